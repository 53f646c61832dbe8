import Accounts
import Testing

@Suite struct ForeignPasswordHashTests {
    private static let bcrypt = "mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"
    private static let key = "YC9+jJCrQhs5R6db7LlN8Q"
    private static let longKey =
        "Qj3+9PPyRjSJIebHnG81TMjsqtaIGxNQG/aEB/NYafTJ7tibgfYz71m0ldQESkXFRkdVCBhhY8mx7rQwite/Pw=="

    /// Up to the cap, and beyond it.
    private static let caps: [(within: String, beyond: String)] = [
        ("$2b$15$\(bcrypt)", "$2b$16$\(bcrypt)"),
        ("$2b$04$\(bcrypt)", "$2b$03$\(bcrypt)"),
        // 16 MiB by default, 64 MiB, 128 MiB
        (
            "$y$jBT$.......$Azb4unskovkivqV5L2S5ovdEGpbGNKmfaJnP.BqXgm3",
            "$y$jCT$.......$Azb4unskovkivqV5L2S5ovdEGpbGNKmfaJnP.BqXgm3"
        ),
        ("$argon2id$v=19$m=262144,t=1,p=1$c2FsdHNhbHQ$\(key)", "$argon2id$v=19$m=262145,t=1,p=1$c2FsdHNhbHQ$\(key)"),
        ("$argon2i$v=19$m=128,t=10,p=16$c2FsdHNhbHQ$\(key)", "$argon2i$v=19$m=128,t=11,p=16$c2FsdHNhbHQ$\(key)"),
        ("$argon2i$v=19$m=136,t=1,p=16$c2FsdHNhbHQ$\(key)", "$argon2i$v=19$m=136,t=1,p=17$c2FsdHNhbHQ$\(key)"),
        ("$argon2i$m=8,t=1,p=1$c2FsdHNhbHQ$\(key)", "$argon2i$v=17$m=8,t=1,p=1$c2FsdHNhbHQ$\(key)"),
        ("$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$\(key)", "$argon2i$v=19$m=7,t=1,p=1$c2FsdHNhbHQ$\(key)"),
        ("pbkdf2_sha256$10000000$salt$\(key)", "pbkdf2_sha256$10000001$salt$\(key)"),
        ("pbkdf2_sha1$1$salt$\(key)", "pbkdf2_sha512$1$salt$\(key)"),
        ("scrypt$131072$salt$16$1$\(longKey)", "scrypt$262144$salt$16$1$\(longKey)"),
        ("scrypt$131072$salt$16$10$\(longKey)", "scrypt$131072$salt$17$1$\(longKey)"),
        ("scrypt$2$salt$1$10$\(longKey)", "scrypt$2$salt$1$11$\(longKey)"),
        ("scrypt$32768$salt$1$1$\(longKey)", "scrypt$65536$salt$1$1$\(longKey)"),
        ("$pbkdf2-sha512$10000000$c2FsdA$\(longKey)", "$pbkdf2-sha512$10000001$c2FsdA$\(longKey)"),
        ("$pbkdf2$1$c2FsdA$\(key)", "$pbkdf2-sha3$1$c2FsdA$\(key)"),
        ("$pbkdf2-sha256$i=1000,l=16$c2FsdA$\(key)", "$pbkdf2-sha256$i=1000,l=32$c2FsdA$\(key)"),
        ("$scrypt$ln=17,r=16,p=10$c2FsdA$\(longKey)", "$scrypt$ln=18,r=8,p=1$c2FsdA$\(longKey)"),
        ("scrypt$ln=17,r=8,p=1$c2FsdA$\(key)", "$scrypt$ln=17,r=17,p=1$c2FsdA$\(key)"),
        ("scrypt$ln=1,r=1,p=1$c2FsdA$\(key)", "scrypt$ln=0,r=1,p=1$c2FsdA$\(key)"),
        ("pbkdf2_sha256$5000000$salt$\(longKey)", "pbkdf2_sha256$5000001$salt$\(longKey)"),
        ("scrypt$4$salt$1$1$\(longKey)", "scrypt$3$salt$1$1$\(longKey)"),
        ("keycloak$pbkdf2-sha512$210000$c2FsdA==$\(longKey)", "keycloak$pbkdf2-sha3$210000$c2FsdA==$\(longKey)"),
        ("firebase$42xEC-ixf3L2lw==$\(longKey)", "firebase$$\(longKey)"),
    ]

    @Test(arguments: caps) func `a hash is read up to the caps, and no further`(
        _ texts: (within: String, beyond: String)
    ) {
        #expect(ForeignPasswordHash(texts.within) != nil, "\(texts.within)")
        #expect(ForeignPasswordHash(texts.beyond) == nil, "\(texts.beyond)")
    }

    @Test func `what another system would hash with a terabyte is refused before anything is allocated`() {
        for text in [
            "$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ$\(Self.key)",
            "$argon2id$v=19$m=99999999999999999999,t=1,p=1$c2FsdHNhbHQ$\(Self.key)",
            "scrypt$1099511627776$salt$8$1$\(Self.longKey)", "scrypt$131072$salt$4294967295$1$\(Self.longKey)",
            "$y$jzzzz$.......$Azb4unskovkivqV5L2S5ovdEGpbGNKmfaJnP.BqXgm3", "$y$jWWWWWWWWWWWW$a$b",
            "$y$j75$.......$" + String(repeating: "A", count: 900),
        ] {
            #expect(ForeignPasswordHash(text) == nil, "\(text)")
        }
    }

    @Test func `what crypt(3) would take for DES, and forms that mean another thing, are no hashes`() {
        for text in [
            "garbage", "ab", "*0", "*1", "$1$salt$xxxxxxxxxxxxxxxxxxxxxx", "$5$salt$x", "$6$salt$x",
            "$2x$04$\(Self.bcrypt)",
            "$2$04$\(Self.bcrypt)", "$2b$04$\(Self.bcrypt)x", "$scrypt$ln=16384,r=8,p=1$c2FsdA$\(Self.key)", "",
            "!unusable", "$scrypt$16384$salt$8$1$\(Self.longKey)", "$$scrypt$ln=4,r=1,p=1$c2FsdA$\(Self.key)",
            "$scrypt$ln=4,r=1$c2FsdA$\(Self.key)", "$scrypt$ln=4,r=1,p=1$c2FsdA",
            "$2b$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4z u",
        ] {
            #expect(ForeignPasswordHash(text) == nil, "\(text)")
        }
    }

    @Test func `the kind of a text is known also where it is refused`() {
        for (text, kind) in [
            ("$2b$31$x", .bcrypt), ("$y$x", .yescrypt), ("$argon2d$x", .argon2), ("argon2$x", .argon2),
            ("pbkdf2_sha512$x", .pbkdf2), ("scrypt$x", .scrypt), ("$scrypt$ln=16384", .scrypt),
            ("$pbkdf2$x", .pbkdf2), ("$pbkdf2-sha1$x", .pbkdf2), ("firebase$x", .firebase), ("keycloak$x", .keycloak),
            (#"{"key":"x"}"#, .encrypted), ("$2x$04$x", .unknown), ("md5$x", .unknown),
            (String(repeating: "0", count: 32) + ":" + String(repeating: "z", count: 128), .betterAuth),
        ] as [(String, ForeignPasswordHash.Kind)] {
            #expect(ForeignPasswordHash.kind(of: text) == kind, "\(text)")
        }
    }
}
