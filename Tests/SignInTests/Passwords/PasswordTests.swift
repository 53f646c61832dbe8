import Accounts
import OpenSSL
import Postgres
import Primitives
import SignIn
import Storage
import TestSupport
import Testing

@Suite(.fixture(SignInFixture.self)) struct PasswordTests {
    var fixture: SignInFixture { .current }

    @Test func `an account with a password is made, unverified, and entered by it`() async throws {
        let made = try await fixture.register("Kim@Example.com")
        #expect(made.account.email?.text == "kim@example.com")
        #expect(!made.account.isEmailVerified)
        #expect(made.account.hasPassword)
        #expect(made.identity == nil)
        let again = try await fixture.signIn("KIM@example.com")
        #expect(again.account.id == made.account.id)
        #expect(try await fixture.opened(again).methods == [.password])
    }

    @Test func `wrong, unknown, password-less and impossible fail alike`() async throws {
        try await fixture.register("kim@example.com")
        let email = SignInFixture.email("lee@example.com")
        _ = try await fixture.signUp(.google("1", email))
        let tries = [
            ("kim@example.com", "wrong password"), ("nobody@example.com", SignInFixture.password),
            ("lee@example.com", SignInFixture.password), ("not an address", SignInFixture.password),
            ("kim@example.com", ""), ("kim@example.com", SignInFixture.password + " "),
            ("kim@example.com", String(repeating: "p", count: 4096)),
        ]
        for (email, password) in tries {
            let hashed = fixture.passwordHasher.finished
            try await expectFailure("invalidCredentials") { try await fixture.signIn(email, password: password) }
            // The same work for each, so the same time.
            #expect(fixture.passwordHasher.finished == hashed + 1)
        }
    }

    @Test func `the right password of a disabled account is refused as such, a wrong one is not`() async throws {
        try await fixture.register("kim@example.com")
        _ = try await fixture.database.execute("UPDATE accounts SET status = 'disabled'")
        try await expectFailure("accountDisabled") { try await fixture.signIn("kim@example.com") }
        try await expectFailure("invalidCredentials") {
            try await fixture.signIn("kim@example.com", password: "wrong password")
        }
    }

    @Test func `a password that changes while it is checked opens no session`() async throws {
        try await fixture.register("kim@example.com")
        let sessions = try await fixture.count("sessions")
        let signingIn = try await fixture.interleave { transaction in
            try await transaction.execute("UPDATE accounts SET password_hash = NULL")
        } with: {
            try await fixture.signIn("kim@example.com")
        }
        try await expectFailure("invalidCredentials") { try await signingIn.value }
        #expect(try await fixture.count("sessions") == sessions)
    }

    @Test func `an address is registered once, of fifty tries at once too`() async throws {
        let outcomes = try await race(50) { _ in try await fixture.register("kim@example.com") }
        #expect(outcomes == ["won": 1, "emailTaken": 49])
        #expect(try await fixture.count("accounts") == 1)
        #expect(try await fixture.count("sessions") == 1)
    }

    @Test func `a weak password is refused`() async throws {
        for password in [
            "", "1234567", "password", "PassWord", "12345678", "iloveyou", "kim@example.com", "KIM@example.com",
            "aaaaaaaaaaaa", String(repeating: "x1", count: 513),
            // In the normal form they are a common one, three bytes and 3,300.
            "ｐａｓｓｗｏｒｄ", "𝐚𝐛𝐜", String(repeating: "\u{FDFA}", count: 100),
        ] {
            let refused = try await failure { try await fixture.register("kim@example.com", password: password) }
            #expect(refused == "weakPassword", "\(password)")
        }
        #expect(try await fixture.count("accounts") == 0)
    }

    @Test(arguments: [
        "kim@bücher.example", "KIM@BU\u{308}CHER.example", "kim@xn--bcher-kva.example", "ｋim@Bücher.example",
    ])
    func `an address is no password of its own account, however its domain is written`(password: String) async throws {
        try await expectFailure("weakPassword") { try await fixture.register("kim@bücher.example", password: password) }
        try await fixture.register("ada@bücher.example", password: password)
    }

    @Test(arguments: [
        ("kïm@example.com", "Kïm@example.com"), ("Kïm@example.com", "kïm@EXAMPLE.com"),
        ("kïm@example.com", "KÏM@example.com"), ("ki\u{308}m@example.com", "kïm@example.com"),
        ("kïm@example.com", "KI\u{308}M@example.com"),
        ("ｋïm@example.com", "kïm@example.com"),
    ])
    func `an address whose local part is not of ASCII is none, in another case and form either`(
        address: String, password: String
    ) async throws {
        try await expectFailure("weakPassword") { try await fixture.register(address, password: password) }
        try await fixture.register("ada@example.com", password: password)
    }

    @Test(arguments: ["8 bytes!", "pässwörter sind lang", String(repeating: "ab", count: 512)])
    func `8 to 1,024 bytes are accepted`(password: String) async throws {
        try await fixture.register("kim@example.com", password: password)
        _ = try await fixture.signIn("kim@example.com", password: password)
    }

    @Test(arguments: ["zwölf Bögen", "zwo\u{308}lf Bo\u{308}gen", "ｚwölf\u{A0}Bögen"])
    func `a password is the same, however a keyboard writes its letters`(typed: String) async throws {
        let registered = try await fixture.register("kim@example.com", password: typed)
        let spellings = ["zwölf Bögen", "zwo\u{308}lf Bögen", "zwölf\u{2003}Bögen"]
        for spelling in spellings { _ = try await fixture.signIn("kim@example.com", password: spelling) }
        try await expectFailure("invalidCredentials") {
            try await fixture.signIn("kim@example.com", password: "zwolf Bogen")
        }
        try await fixture.changePassword(of: registered, from: spellings[1])
    }

    @Test func `a password that is short enough in its normal form is good, however long it is as typed`()
        async throws
    {
        let normal = String(repeating: "ü", count: 400)
        try await fixture.register("kim@example.com", password: normal)
        let typed = String(repeating: "u\u{308}", count: 400)
        #expect(typed.utf8.count > PasswordPolicy.bytes.upperBound)
        _ = try await fixture.signIn("kim@example.com", password: typed)
        try await expectFailure("invalidCredentials") {
            try await fixture.signIn("kim@example.com", password: normal + "ü")
        }
    }

    @Test(arguments: [
        ("ﾊﾟｽﾜｰﾄﾞ", "\u{30D1}\u{30B9}\u{30EF}\u{30FC}\u{30C9}"), ("ｶﾞｷﾞｸﾞ", "\u{30AC}\u{30AE}\u{30B0}"),
        ("\u{FFA1}\u{FFC2}\u{FFA1}\u{FFC2}", "\u{AC00}\u{AC00}"), ("\u{AC00}\u{11A8}", "\u{AC01}"),
    ])
    func `what was written in half width or in jamo is the same in whole characters`(
        parts: String, whole: String
    ) async throws {
        let passwords = [parts, whole].map { "password " + $0 }
        for (email, first, second) in [
            ("kim@example.com", passwords[0], passwords[1]), ("ada@example.com", passwords[1], passwords[0]),
        ] {
            try await fixture.register(email, password: first)
            for typed in [first, second] { _ = try await fixture.signIn(email, password: typed) }
        }
    }

    @Test(arguments: [
        ("zwo\u{308}lf Bo\u{308}gen", "zwo\u{308}lf Bo\u{308}gen"),
        ("ﾊﾟｽﾜｰﾄﾞ", "\u{30CF}\u{309A}\u{30B9}\u{30EF}\u{30FC}\u{30C8}\u{3099}"),
    ])
    func `a hash of what was typed, or of a form that passwords had before, stays good`(
        typed: String, hashed: String
    ) async throws {
        try await fixture.register("kim@example.com")
        let salt = [UInt8](repeating: 1, count: 16)
        let key = try Scrypt.derive(password: Array(hashed.utf8), salt: salt, cost: SignInFixture.cheap, count: 32)
        let hash = "$scrypt$ln=4,r=1,p=1$\(Base64URL.encode(salt))$\(Base64URL.encode(key.bytes))"
        try await fixture.database.execute("UPDATE accounts SET password_hash = \(hash)")
        for _ in 0..<2 { _ = try await fixture.signIn("kim@example.com", password: typed) }
    }

    @Test func `the password is not in the database`() async throws {
        try await fixture.register("kim@example.com")
        let hash = try await fixture.storage.accounts.passwordCredential(
            for: try #require(EmailAddress("kim@example.com")))?.passwordHash
        #expect(hash?.text.hasPrefix("$scrypt$ln=4,r=1,p=1$") == true)
        #expect(hash?.text.contains(SignInFixture.password) == false)
    }
}

@Suite(.timeLimit(.minutes(5))) struct PasswordHasherTests {
    private static let password = "correct horse battery"
    private static let anybody = Call.at(Timestamp(seconds: 0))

    private static func caller(_ network: Network, _ wideNetwork: Network? = nil) -> Call {
        Call(
            now: Timestamp(seconds: 0), origin: .service,
            caller: Caller(requestID: "test", address: nil, network: network, wideNetwork: wideNetwork, device: nil))
    }

    @Test func `what is hashed is verified at the service's cost`() async throws {
        let hasher = try PasswordHasher()
        let hash = try await hasher.hash("correct horse battery", by: Self.anybody)
        #expect(hash.text.hasPrefix("$scrypt$ln=17,r=8,p=1$"))
        #expect(try await hasher.verify("correct horse battery", against: hash, by: Self.anybody))
        #expect(try await !hasher.verify("correct horse batterz", against: hash, by: Self.anybody))
    }

    @Test func `two hashes of one password differ`() async throws {
        let hasher = try PasswordHasher(cost: SignInFixture.cheap)
        #expect(
            try await hasher.hash("correct horse battery", by: Self.anybody)
                != hasher.hash("correct horse battery", by: Self.anybody))
    }

    @Test func `nothing verifies against no hash or a broken one`() async throws {
        let hasher = try PasswordHasher(cost: SignInFixture.cheap)
        for stored in [nil, "", "$scrypt$", "$scrypt$ln=40,r=8,p=1$AAAA$AAAA", "$argon2id$v=19$x$y"] as [String?] {
            #expect(try await !hasher.verify("", against: stored.map(PasswordHash.init), by: Self.anybody))
        }
    }

    @Test func `a hash made at another cost still verifies`() async throws {
        let hash = try await PasswordHasher(cost: SignInFixture.cheap).hash("correct horse battery", by: Self.anybody)
        let dearer = try PasswordHasher(cost: Scrypt.Cost(n: 32, r: 2, p: 1))
        #expect(try await dearer.verify("correct horse battery", against: hash, by: Self.anybody))
    }

    @Test func `more than the slots and the queue hold is refused at once and the rest is served`() async throws {
        // Slow enough that the first two hold their slots while the others arrive.
        let hasher = try PasswordHasher(cost: Scrypt.Cost(n: 1 << 16, r: 8, p: 1), slots: 2, maximumWaiting: 3)
        let outcomes = try await race(40) { number in
            try await hasher.hash("correct horse battery", by: Self.anybody)
        }
        let won = outcomes["won", default: 0]
        #expect(won >= 5)
        #expect(outcomes["overloaded", default: 0] == 40 - won)
        #expect(won < 40)
        // The slots are free again.
        _ = try await hasher.hash("correct horse battery", by: Self.anybody)
    }

    @Test func `one network that fills the queue, its passwords right or wrong, keeps nobody else out`() async throws {
        let slow = try PasswordHasher(cost: Scrypt.Cost(n: 1 << 17, r: 8, p: 1), slots: 1, maximumWaiting: 4)
        let right = try await PasswordHasher(cost: SignInFixture.cheap).hash(Self.password, by: Self.anybody)
        let busy = Self.caller("192.0.2.0/24", "192.0.0.0/16")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            // Three accounts of their own, whose right passwords they know, and the hashes that registering takes.
            for number in 0..<20 {
                group.addTask {
                    do throws(SignInFailure) {
                        if number.isMultiple(of: 2) {
                            return try await slow.verify(Self.password, against: right, by: busy)
                        }
                        return try await !slow.hash(Self.password, by: busy).text.isEmpty
                    } catch {
                        #expect(error == .overloaded(retryAfter: 1))
                        return false
                    }
                }
            }
            // The others are served while they try; on a machine that is late they may be done by then.
            while slow.occupancy.waiting < 2, slow.finished == 0 { await Task.yield() }
            #expect(try await slow.verify(Self.password, against: right, by: Self.caller("198.51.100.0/24")))
            _ = try await slow.hash(Self.password, by: Self.anybody)
            let served = try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            #expect((3..<20).contains(served))
        }
    }

    @Test func `one account's sessions have two of the places, from however many networks`() async throws {
        let kim = try #require(AccountID("0190b2a4-5f1c-7d3e-8a4b-1c2d3e4f5a6b"))
        // On a machine that is late one of the two may be done before the third asks.
        let isRefused = try await onceOfThree {
            let slow = try PasswordHasher(cost: Scrypt.Cost(n: 1 << 17, r: 8, p: 1), slots: 1, maximumWaiting: 16)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<2 {
                    group.addTask { _ = try await slow.hash("x", in: kim, by: Self.caller("192.0.\(number).0/24")) }
                }
                while slow.occupancy != (1, 1), slow.finished == 0 { await Task.yield() }
                var refusal: SignInFailure?
                do throws(SignInFailure) {
                    _ = try await slow.hash("x", in: kim, by: Self.caller("198.51.100.0/24"))
                } catch {
                    refusal = error
                }
                // Those who guess at the account without a session take nothing from each other.
                _ = try await slow.verify("x", against: nil, by: Self.caller("198.51.100.0/24"))
                try await group.waitForAll()
                return refusal == .overloaded(retryAfter: 1)
            }
        }
        #expect(isRefused)
    }
}
