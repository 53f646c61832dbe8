import Accounts
import Foundation
import OpenSSL
import Postgres
import Primitives
import SignIn
import Storage
import Synchronization
import TestSupport
import Testing

/// Passwords that other systems have hashed.
@Suite struct ForeignPasswordTests {
    var fixture: SignInFixture { .current }

    private static let anybody = Call.at(Timestamp(seconds: 0))
    private static let signerKey =
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

    /// A hash that a system itself, or its documents, have made of a password.
    struct Vector: Decodable, Sendable {
        let password: String
        let hash: String
    }

    private static let bcrypt = Vector(
        password: "test", hash: "$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu")
    private static let argon2 = Vector(
        password: "secret", hash: "argon2$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$YC9+jJCrQhs5R6db7LlN8Q")
    /// By the `argon2` of Debian 12, with a thread a lane.
    private static let lanes = Vector(
        password: "secret", hash: "$argon2id$v=19$m=64,t=2,p=4$c2FsdHNhbHRzYWx0c2FsdA$+R1yYaHfslRbZIYuECptBA")
    private static var documented: [Vector] {
        get throws { try JSONDecoder().decode([Vector].self, from: Data(try Vectors.bytes("foreign-passwords.json"))) }
    }

    private static func hasher() throws -> PasswordHasher {
        let key = try #require(Data(base64Encoded: signerKey))
        return try PasswordHasher(
            cost: SignInFixture.cheap,
            foreign: ForeignPasswords(
                firebase: ForeignPasswords.Firebase(
                    signerKey: [UInt8](key), saltSeparator: [7], rounds: 8, memoryCost: 14)))
    }

    @Test(arguments: try [bcrypt, argon2, lanes] + documented)
    func `a hash of another system fits its password and no other`(_ vector: Vector) async throws {
        let hasher = try Self.hasher()
        #expect(
            try await hasher.verify(vector.password, against: PasswordHash(vector.hash), by: Self.anybody),
            "\(vector.hash)")
        for wrong in [vector.password + "x", "", vector.password + "\0", "\0" + vector.password] {
            #expect(
                try await !hasher.verify(wrong, against: PasswordHash(vector.hash), by: Self.anybody), "\(vector.hash)")
        }
    }

    private static let long = String(repeating: "a", count: 72)
    private static let hashOfLong = "$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"

    @Test func `bcrypt reads 72 bytes, and longer passwords still let their owners in`() async throws {
        let hasher = try Self.hasher()
        for password in [Self.long, Self.long + "b", Self.long + "c"] {
            #expect(try await hasher.verify(password, against: PasswordHash(Self.hashOfLong), by: Self.anybody))
        }
        for password in [String(Self.long.dropLast()), String(repeating: "a", count: 600)] {
            #expect(try await !hasher.verify(password, against: PasswordHash(Self.hashOfLong), by: Self.anybody))
        }
    }

    @Test func `a hash of Firebase fits nothing without the project's key`() async throws {
        let hasher = try PasswordHasher(cost: SignInFixture.cheap)
        let vector = try #require(try Self.documented.first { $0.hash.hasPrefix("firebase$") })
        #expect(try await !hasher.verify(vector.password, against: PasswordHash(vector.hash), by: Self.anybody))
        #expect(!ForeignPasswords().kinds.contains(.firebase))
    }

    /// One that takes long enough to be compared, beside which the hashes of others here take nothing.
    private static func slowHasher(slots: Int = 2) throws -> PasswordHasher {
        try PasswordHasher(cost: Scrypt.Cost(n: 1 << 14, r: 8, p: 1), slots: slots)
    }

    private static func timing(_ check: () async throws -> Void) async rethrows -> Duration {
        let begin = ContinuousClock.now
        try await check()
        return ContinuousClock.now - begin
    }

    /// Whether the second takes 1.2 times as long as the first at least, each when it was quickest. A busy machine takes some
    /// more rounds to be quick once.
    private static func isLonger(
        than first: () async throws -> Void, _ second: () async throws -> Void
    ) async throws -> Bool {
        var quickest = try await (timing(first), timing(second))
        for _ in 0..<100 where quickest.1 * 5 < quickest.0 * 6 {
            quickest.0 = min(quickest.0, try await timing(first))
            quickest.1 = min(quickest.1, try await timing(second))
        }
        return quickest.1 * 5 >= quickest.0 * 6
    }

    @Test func `what is wrong takes longer than a hash of ours, of whatever kind the stored hash is`() async throws {
        let hasher = try Self.slowHasher()
        let own = try await hasher.hash("secret", by: Self.anybody)
        for stored in [nil, own, PasswordHash(Self.bcrypt.hash), PasswordHash(Self.argon2.hash)] {
            // Two spellings are two hashes.
            for (wrong, spellings) in [("wrong", 1), ("wro\u{308}ng", 2)] {
                let isLonger = try await Self.isLonger {
                    for _ in 0..<spellings { _ = try await hasher.hash("secret", by: Self.anybody) }
                } _: {
                    let isRight = try await hasher.verify(wrong, against: stored, by: Self.anybody)
                    #expect(!isRight)
                }
                #expect(isLonger, "\(stored?.text ?? "none")")
            }
        }
    }

    @Test func `who waits behind a wrong password waits as long, whatever kind its hash is of`() async throws {
        let hasher = try Self.slowHasher(slots: 1)
        let isLonger = try await Self.isLonger {
            for _ in 0..<4 { _ = try await hasher.hash("secret", by: Self.anybody) }
        } _: {
            let right = try await concurrently(0..<4) { _ in
                try await hasher.verify("wrong", against: PasswordHash(Self.bcrypt.hash), by: Self.anybody)
            }
            #expect(right == [false, false, false, false])
        }
        // Each keeps the place for one and a half hashes.
        #expect(isLonger)
    }

    @Test func `what is right takes as long as what is wrong where it may be refused`() async throws {
        let hasher = try Self.slowHasher()
        let own = try await hasher.hash("secret", by: Self.anybody)
        let isLonger = try await Self.isLonger {
            let isRight = try await hasher.verify("secret", against: own, by: Self.anybody)
            #expect(isRight)
        } _: {
            let isRight = try await hasher.verify("secret", against: own, isHeld: true, by: Self.anybody)
            #expect(isRight)
        }
        #expect(isLonger)
    }

    @Test func `hashes under way together take no more memory than the limit`() async throws {
        let limit = WeightedLimit(100)
        let most = Most()
        try await concurrently([60, 60, 30, 30, 30, 200, 10]) { weight in
            await limit.admit(weight) {
                most.note(limit.inUse)
                for _ in 0..<20 { await Task.yield() }
            }
        }
        #expect((1...100).contains(most.value.withLock(\.self)))
        #expect(limit.inUse == 0)
    }

    private final class Most: Sendable {
        let value = Mutex(0)
        func note(_ number: Int) { value.withLock { $0 = max($0, number) } }
    }

    // MARK: Signing in

    private static func give(_ hash: String, to email: String, in database: Database) async throws {
        try await database.execute("UPDATE accounts SET password_hash = \(hash) WHERE email = \(email)")
    }

    private static func hash(of email: String, in database: Database) async throws -> String? {
        try await database.texts("SELECT password_hash FROM accounts WHERE email = \(email)").first ?? nil
    }

    @Test(.fixture(SignInFixture.self))
    func `the first good sign-in puts a hash of ours in the place of an imported one, a wrong one does not`()
        async throws
    {
        try await fixture.register("kim@example.com")
        let imported = Self.bcrypt.hash
        try await Self.give(imported, to: "kim@example.com", in: fixture.database)
        await #expect(throws: SignInFailure.invalidCredentials) {
            _ = try await fixture.signIn("kim@example.com", password: "wrong")
        }
        #expect(try await Self.hash(of: "kim@example.com", in: fixture.database) == imported)
        // Shorter than a new password may be: the policy is for new ones.
        _ = try await fixture.signIn("kim@example.com", password: "test")
        let own = try #require(try await Self.hash(of: "kim@example.com", in: fixture.database))
        #expect(own.hasPrefix("$scrypt$ln="))
        _ = try await fixture.signIn("kim@example.com", password: "test")
        #expect(try await Self.hash(of: "kim@example.com", in: fixture.database) == own)
    }

    @Test(.fixture(SignInFixture.self))
    func `what was typed goes on being good where an imported hash is replaced, in each spelling`() async throws {
        try await fixture.register("kim@example.com")
        let vectors = try Self.documented
        // The first is of the normal form of its password, as better-auth hashes; the second of "è" in one scalar.
        let normalised = try #require(vectors.first { $0.password == "ﬁsh" })
        let composed = try #require(vectors.first { $0.hash.hasPrefix("pbkdf2_sha256$") })
        for (hash, spellings) in [
            (normalised.hash, ["ﬁsh", "ﬁsh", "fish"]),
            (composed.hash, ["le\u{300}tmein", "le\u{300}tmein", "l\u{E8}tmein"]),
        ] {
            try await Self.give(hash, to: "kim@example.com", in: fixture.database)
            for spelling in spellings { _ = try await fixture.signIn("kim@example.com", password: spelling) }
            #expect(
                try await Self.hash(of: "kim@example.com", in: fixture.database)?.hasPrefix("$scrypt$ln=4,") == true)
            try await expectFailure("invalidCredentials") {
                try await fixture.signIn("kim@example.com", password: "letmein")
            }
        }
    }

    @Test(.fixture(SignInFixture.self))
    func `of several devices that sign in first at once none is refused`() async throws {
        try await fixture.register("kim@example.com")
        try await Self.give(Self.bcrypt.hash, to: "kim@example.com", in: fixture.database)
        try await concurrently(0..<8) { _ in _ = try await fixture.signIn("kim@example.com", password: "test") }
        #expect(try await Self.hash(of: "kim@example.com", in: fixture.database)?.hasPrefix("$scrypt$ln=") == true)
    }

    @Test(.fixture(SignInFixture.self))
    func `an imported password opens no session where another one has taken its place meanwhile`() async throws {
        try await fixture.register("kim@example.com")
        try await Self.give(Self.bcrypt.hash, to: "kim@example.com", in: fixture.database)
        let sessions = try await fixture.count("sessions")
        let changed = try await fixture.passwordHasher.hash(SignInFixture.password, by: fixture.call)
        let signingIn = try await fixture.interleave { transaction in
            try await transaction.execute("UPDATE accounts SET password_hash = \(changed.text)")
        } with: {
            try await fixture.signIn("kim@example.com", password: Self.bcrypt.password)
        }
        try await expectFailure("invalidCredentials") { try await signingIn.value }
        #expect(try await fixture.count("sessions") == sessions)
        #expect(try await Self.hash(of: "kim@example.com", in: fixture.database) == changed.text)
    }

    @Test(.fixture(SignInFixture.self))
    func `what bcrypt has not read of a password is not asked for afterwards`() async throws {
        try await fixture.register("kim@example.com")
        try await Self.give(Self.hashOfLong, to: "kim@example.com", in: fixture.database)
        for tail in ["wrong", "right"] { _ = try await fixture.signIn("kim@example.com", password: Self.long + tail) }
        #expect(try await Self.hash(of: "kim@example.com", in: fixture.database) == Self.hashOfLong)
    }

    /// Of `ü` in two scalars, 24 times, which are 72 bytes; the normal form has 48.
    private static let hashOfMarks = "$2b$04$abcdefghijklmnopqrstuuF7gUpRtdIqyftYj.YsjnElpM1pkab0C"

    @Test(.fixture(SignInFixture.self))
    func `what bcrypt has not read is not asked for where another spelling would be short enough`() async throws {
        try await fixture.register("kim@example.com")
        try await Self.give(Self.hashOfMarks, to: "kim@example.com", in: fixture.database)
        let read = String(repeating: "u\u{308}", count: 24)
        for tail in ["wrong", "right"] { _ = try await fixture.signIn("kim@example.com", password: read + tail) }
        #expect(try await Self.hash(of: "kim@example.com", in: fixture.database) == Self.hashOfMarks)
    }

    /// An account with a stated address and a password that came with an import, which has an identity to sign in with.
    private static func imported(_ hash: String, _ fixture: SignInFixture) async throws -> SignedIn {
        let person = try await fixture.signUp(.apple("kim", SignInFixture.email(StatedAddress.text)))
        try await fixture.database.execute(
            """
            UPDATE accounts
            SET password_hash = \(hash), password_is_unused = true
            WHERE account_id = \(person.account.id)
            """)
        return person
    }

    @Test(.fixture { try await SignInFixture.withMail($0) })
    func `a proof of the mailbox removes an imported password that was never used`() async throws {
        let person = try await Self.imported(Self.bcrypt.hash, fixture)
        await #expect(throws: SignInFailure.invalidCredentials) {
            _ = try await fixture.signIn(StatedAddress.text, password: "wrong")
        }
        try await fixture.verify(person)
        #expect(try await !fixture.account(person).hasPassword)
        await #expect(throws: SignInFailure.invalidCredentials) {
            _ = try await fixture.signIn(StatedAddress.text, password: Self.bcrypt.password)
        }
    }

    @Test
    func `a proof of the mailbox keeps an imported password that was used, also where its hash stayed`() async throws {
        // Of more than 72 bytes, so that bcrypt's hash is not replaced.
        for (hash, password, isReplaced) in [
            (Self.bcrypt.hash, Self.bcrypt.password, true), (Self.hashOfLong, Self.long + "b", false),
        ] {
            try await SignInFixture.withMail { fixture in
                let person = try await Self.imported(hash, fixture)
                _ = try await fixture.signIn(StatedAddress.text, password: password)
                #expect(try await (Self.hash(of: StatedAddress.text, in: fixture.database) != hash) == isReplaced)
                try await fixture.verify(person)
                _ = try await fixture.signIn(StatedAddress.text, password: password)
            }
        }
    }

    @Test(.fixture { try await SignInFixture.withMail($0) })
    func `a proof of the mailbox keeps a password that took an imported one's place`() async throws {
        let person = try await Self.imported(Self.bcrypt.hash, fixture)
        try await fixture.changePassword(of: person, from: Self.bcrypt.password, to: SignInFixture.password)
        // A process of the release before leaves the mark.
        try await fixture.database.execute("UPDATE accounts SET password_is_unused = true")
        try await fixture.verify(person)
        _ = try await fixture.signIn(StatedAddress.text)
    }

    @Test(.fixture(SignInFixture.self))
    func `a row that names a cost beyond the caps lets nobody in and allocates nothing`() async throws {
        try await fixture.register("kim@example.com")
        try await Self.give(
            "$argon2id$v=19$m=4294967295,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            to: "kim@example.com", in: fixture.database)
        await #expect(throws: SignInFailure.invalidCredentials) {
            _ = try await fixture.signIn("kim@example.com", password: "password")
        }
    }
}
