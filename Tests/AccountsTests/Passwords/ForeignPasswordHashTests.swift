import Accounts
import TestSupport
import Testing

private let caps = Result { try DataFile("capped-hashes.tsv").rows }

@Suite struct ForeignPasswordHashTests {
    private static let bcrypt = "mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"
    private static let key = "YC9+jJCrQhs5R6db7LlN8Q"
    private static let longKey =
        "Qj3+9PPyRjSJIebHnG81TMjsqtaIGxNQG/aEB/NYafTJ7tibgfYz71m0ldQESkXFRkdVCBhhY8mx7rQwite/Pw=="

    @Test(arguments: try caps.get()) func `a hash is read up to the caps, and no further`(row: [String]) {
        #expect(ForeignPasswordHash(row[0]) != nil, "\(row[0])")
        #expect(ForeignPasswordHash(row[1]) == nil, "\(row[1])")
    }

    @Test func `what another system would hash with a terabyte is refused before anything is allocated`() {
        for text in [
            "$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ$\(Self.key)",
            "$argon2id$v=19$m=99999999999999999999,t=1,p=1$c2FsdHNhbHQ$\(Self.key)",
            "scrypt$1099511627776$salt$8$1$\(Self.longKey)", "scrypt$131072$salt$4294967295$1$\(Self.longKey)",
            "$y$jzzzz$.......$Azb4unskovkivqV5L2S5ovdEGpbGNKmfaJnP.BqXgm3", "$y$jWWWWWWWWWWWW$a$b",
            "$y$j75$.......$" + String(repeating: "A", count: 900),
        ] { #expect(ForeignPasswordHash(text) == nil, "\(text)") }
    }

    @Test func `what crypt(3) would take for DES, and forms that mean another thing, are no hashes`() {
        for text in [
            "garbage", "ab", "*0", "*1", "$1$salt$xxxxxxxxxxxxxxxxxxxxxx", "$5$salt$x", "$6$salt$x",
            "$2x$04$\(Self.bcrypt)",
            "$2$04$\(Self.bcrypt)", "$2b$04$\(Self.bcrypt)x", "$scrypt$ln=16384,r=8,p=1$c2FsdA$\(Self.key)", "",
            "!unusable", "$scrypt$16384$salt$8$1$\(Self.longKey)", "$$scrypt$ln=4,r=1,p=1$c2FsdA$\(Self.key)",
            "$scrypt$ln=4,r=1$c2FsdA$\(Self.key)", "$scrypt$ln=4,r=1,p=1$c2FsdA",
            "$2b$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4z u",
        ] { #expect(ForeignPasswordHash(text) == nil, "\(text)") }
    }

    @Test func `the kind of a text is known also where it is refused`() {
        for (text, kind) in [
            ("$2b$31$x", .bcrypt), ("$y$x", .yescrypt), ("$argon2d$x", .argon2), ("argon2$x", .argon2),
            ("pbkdf2_sha512$x", .pbkdf2), ("scrypt$x", .scrypt), ("$scrypt$ln=16384", .scrypt),
            ("$pbkdf2$x", .pbkdf2), ("$pbkdf2-sha1$x", .pbkdf2), ("firebase$x", .firebase), ("keycloak$x", .keycloak),
            (#"{"key":"x"}"#, .encrypted), ("$2x$04$x", .unknown), ("md5$x", .unknown),
            (String(repeating: "0", count: 32) + ":" + String(repeating: "z", count: 128), .betterAuth),
        ] as [(String, ForeignPasswordHash.Kind)] { #expect(ForeignPasswordHash.kind(of: text) == kind, "\(text)") }
    }
}
