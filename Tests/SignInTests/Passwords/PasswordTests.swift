import Accounts
import OpenSSL
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

@Suite struct PasswordTests {
    private static let password = "correct horse battery"

    private func register(_ fixture: SignInFixture, _ email: String, _ password: String) async throws -> SignedIn {
        try await fixture.service.passwords.register(
            email: email, password: password, displayName: nil, client: fixture.client)
    }

    private func signIn(_ fixture: SignInFixture, _ email: String, _ password: String) async throws -> SignedIn {
        try await fixture.service.passwords.signIn(email: email, password: password, client: fixture.client)
    }

    @Test func `an account with a password is made, unverified, and entered by it`() async throws {
        try await SignInFixture.run { fixture in
            let made = try await register(fixture, "Kim@Example.com", PasswordTests.password)
            #expect(made.account.email?.text == "kim@example.com")
            #expect(!made.account.isEmailVerified)
            #expect(made.account.hasPassword)
            #expect(made.identity == nil)
            let again = try await signIn(fixture, "KIM@example.com", PasswordTests.password)
            #expect(again.account.id == made.account.id)
            #expect(try await fixture.service.sessions.session(of: again.session.bearer).methods == [.password])
        }
    }

    @Test func `wrong, unknown, password-less and impossible fail alike`() async throws {
        try await SignInFixture.run { fixture in
            _ = try await register(fixture, "kim@example.com", PasswordTests.password)
            let email = SignInFixture.email("lee@example.com")
            _ = try await fixture.create(try await fixture.ticket(.google, try fixture.google("1", email)))
            let tries = [
                ("kim@example.com", "wrong password"), ("nobody@example.com", PasswordTests.password),
                ("lee@example.com", PasswordTests.password), ("not an address", PasswordTests.password),
                ("kim@example.com", ""), ("kim@example.com", PasswordTests.password + " "),
                ("kim@example.com", String(repeating: "p", count: 4096)),
            ]
            for (email, password) in tries {
                let hashed = fixture.passwordHasher.finished
                try await expectFailure("invalidCredentials") { try await signIn(fixture, email, password) }
                // The same work for each, so the same time.
                #expect(fixture.passwordHasher.finished == hashed + 1)
            }
        }
    }

    @Test func `the right password of a disabled account is refused as such, a wrong one is not`() async throws {
        try await SignInFixture.run { fixture in
            _ = try await register(fixture, "kim@example.com", PasswordTests.password)
            _ = try await fixture.database.execute("UPDATE accounts SET status = 'disabled'")
            let right = try await failure { try await signIn(fixture, "kim@example.com", PasswordTests.password) }
            #expect(right == "accountDisabled")
            let wrong = try await failure { try await signIn(fixture, "kim@example.com", "wrong password") }
            #expect(wrong == "invalidCredentials")
        }
    }

    @Test func `a password that changes while it is checked opens no session`() async throws {
        try await SignInFixture.run { fixture in
            _ = try await register(fixture, "kim@example.com", PasswordTests.password)
            let sessions = try await fixture.count("sessions")
            let signingIn = try await fixture.interleave { transaction in
                try await transaction.execute("UPDATE accounts SET password_hash = NULL")
            } with: {
                try await signIn(fixture, "kim@example.com", PasswordTests.password)
            }
            try await expectFailure("invalidCredentials") { try await signingIn.value }
            #expect(try await fixture.count("sessions") == sessions)
        }
    }

    @Test func `an address is registered once, of fifty tries at once too`() async throws {
        try await SignInFixture.run { fixture in
            let outcomes = try await race(50) { _ in
                try await register(fixture, "kim@example.com", PasswordTests.password)
            }
            #expect(outcomes == ["won": 1, "emailTaken": 49])
            #expect(try await fixture.count("accounts") == 1)
            #expect(try await fixture.count("sessions") == 1)
        }
    }

    @Test(arguments: [
        "", "1234567", "password", "PassWord", "12345678", "iloveyou", "kim@example.com", "KIM@example.com",
        "aaaaaaaaaaaa", String(repeating: "x1", count: 513),
    ]) func `a weak password is refused`(password: String) async throws {
        try await SignInFixture.run { fixture in
            let refused = try await failure { try await register(fixture, "kim@example.com", password) }
            #expect(refused == "weakPassword")
            #expect(try await fixture.count("accounts") == 0)
        }
    }

    @Test(arguments: ["8 bytes!", "pässwörter sind lang", String(repeating: "ab", count: 512)])
    func `8 to 1,024 bytes are accepted`(password: String) async throws {
        try await SignInFixture.run { fixture in
            _ = try await register(fixture, "kim@example.com", password)
            _ = try await signIn(fixture, "kim@example.com", password)
        }
    }

    @Test func `the password is not in the database`() async throws {
        try await SignInFixture.run { fixture in
            _ = try await register(fixture, "kim@example.com", PasswordTests.password)
            let hash = try await fixture.stores.accounts.passwordCredential(
                for: try #require(EmailAddress("kim@example.com")))?.passwordHash
            #expect(hash?.hasPrefix("$scrypt$ln=4,r=1,p=1$") == true)
            #expect(hash?.contains(PasswordTests.password) == false)
        }
    }
}

@Suite struct PasswordHasherTests {
    @Test func `what is hashed is verified at the service's cost`() async throws {
        let hasher = try PasswordHasher()
        let hash = try await hasher.hash("correct horse battery", by: .session)
        #expect(hash.hasPrefix("$scrypt$ln=17,r=8,p=1$"))
        #expect(try await hasher.verify("correct horse battery", against: hash, by: .session))
        #expect(try await !hasher.verify("correct horse batterz", against: hash, by: .session))
    }

    @Test func `two hashes of one password differ`() async throws {
        let hasher = try PasswordHasher(cost: SignInFixture.cheap)
        #expect(
            try await hasher.hash("correct horse battery", by: .session)
                != hasher.hash("correct horse battery", by: .session))
    }

    @Test func `nothing verifies against no hash or a broken one`() async throws {
        let hasher = try PasswordHasher(cost: SignInFixture.cheap)
        for stored in [nil, "", "$scrypt$", "$scrypt$ln=40,r=8,p=1$AAAA$AAAA", "$argon2id$v=19$x$y"] as [String?] {
            #expect(try await !hasher.verify("", against: stored, by: .session))
        }
    }

    @Test func `a hash made at another cost still verifies`() async throws {
        let hash = try await PasswordHasher(cost: SignInFixture.cheap).hash("correct horse battery", by: .session)
        let dearer = try PasswordHasher(cost: Scrypt.Cost(n: 32, r: 2, p: 1))
        #expect(try await dearer.verify("correct horse battery", against: hash, by: .session))
    }

    @Test func `more than the slots and the queue hold is refused at once and the rest is served`() async throws {
        // Slow enough that the first two hold their slots while the others arrive.
        let hasher = try PasswordHasher(cost: Scrypt.Cost(n: 1 << 16, r: 8, p: 1), slots: 2, maximumWaiting: 3)
        let outcomes = try await race(40) { _ in try await hasher.hash("correct horse battery", by: .session) }
        let won = outcomes["won", default: 0]
        #expect(won >= 5)
        #expect(outcomes["overloaded", default: 0] == 40 - won)
        #expect(won < 40)
        // The slots are free again.
        _ = try await hasher.hash("correct horse battery", by: .session)
    }

    @Test func `a quarter of the queue is for networks from which a right password has come`() async throws {
        let slow = try PasswordHasher(cost: Scrypt.Cost(n: 1 << 17, r: 8, p: 1), slots: 1, maximumWaiting: 4)
        let cheap = try await PasswordHasher(cost: SignInFixture.cheap).hash("correct horse battery", by: .session)
        #expect(try await slow.verify("correct horse battery", against: cheap, by: .network("192.0.2.0/24")))
        #expect(try await !slow.verify("wrong", against: cheap, by: .network("198.51.100.0/24")))

        // With one that runs and three that wait, the fourth place is for that network alone. On a machine that is late
        // one of them may end before the others ask: then once more.
        var isRefused = false
        for _ in 0..<20 where !isRefused {
            let before = slow.finished
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { _ = try await slow.verify("x", against: nil, by: .network("192.0.2.0/24")) }
                }
                while slow.occupancy != (1, 3), slow.finished < before + 4 { await Task.yield() }
                do throws(SignInFailure) {
                    _ = try await slow.verify("x", against: cheap, by: .network("198.51.100.0/24"))
                } catch {
                    isRefused = true
                }
                #expect(try await slow.verify("correct horse battery", against: cheap, by: .network("192.0.2.0/24")))
                try await group.waitForAll()
            }
        }
        #expect(isRefused)
    }

    @Test func `a new password in a session may wait where one from an unknown network is refused`() async throws {
        let slow = try PasswordHasher(cost: Scrypt.Cost(n: 1 << 17, r: 8, p: 1), slots: 1, maximumWaiting: 4)
        // As above, once more where the machine is late.
        var isRefused = false
        for _ in 0..<20 where !isRefused {
            let before = slow.finished
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { _ = try await slow.hash("correct horse battery", by: .session) }
                }
                while slow.occupancy != (1, 3), slow.finished < before + 4 { await Task.yield() }
                do throws(SignInFailure) {
                    _ = try await slow.hash("correct horse battery", by: .network("198.51.100.0/24"))
                } catch {
                    isRefused = true
                }
                _ = try await slow.hash("correct horse battery", by: .session)
                try await group.waitForAll()
            }
        }
        #expect(isRefused)
    }
}
