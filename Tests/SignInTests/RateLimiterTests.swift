import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The limits of guessing and registering, as all processes of the service share them.
@Suite struct RateLimiterTests {
    private static let email = "kim@example.com"
    private static let password = SignInFixture.password
    private static let limits: [LimitKind: RateLimit] = [
        .passwordPerAccount: .limit(count: 10, seconds: 900), .guessPerNetwork: .limit(count: 100, seconds: 900),
        .registrationPerNetwork: .limit(count: 30, seconds: 3600),
    ]

    /// Runs `body` with an account that has a password and an Apple identity, and a service that has the default limits.
    private static func run(
        _ limits: [LimitKind: RateLimit] = limits, _ body: (SignInFixture, SignInService) async throws -> Void
    ) async throws {
        try await SignInFixture.run { fixture in
            let kim = try await fixture.register(email)
            let ticket = try await fixture.ticket(.apple("a-1"))
            _ = try await fixture.bind(ticket, kim.session.credential)
            try await body(fixture, try fixture.service { $0.limits = limits })
        }
    }

    /// The seconds to wait, or `nil` if the password was checked.
    private static func guess(
        _ password: String = "a wrong password", _ email: String = email, at service: SignInService,
        from network: Network? = "192.0.2.0/24"
    ) async throws -> Int64? {
        let client = Caller(requestID: "test", address: nil, network: network, device: nil)
        do throws(SignInFailure) {
            _ = try await service.passwords.signIn(
                email: email, password: password, by: service.calls.begin(by: client))
            return nil
        } catch {
            switch error {
            case .invalidCredentials: return nil
            case .rateLimited(_, let retryAfter): return retryAfter
            default: throw error
            }
        }
    }

    // MARK: The console

    @Test func `what staff use up at the console is taken from nobody else`() async throws {
        try await Self.run([.webFlowsPerNetwork: .limit(count: 1, seconds: 3600)]) { (_, service) async throws in
            let client = Caller(requestID: "test", address: nil, network: "192.0.2.0/24", device: nil)
            let call = service.calls.begin(by: client)
            try await service.secretGuesses.ofConsole.noteBeginning(by: call)
            await #expect(throws: SignInFailure.self) {
                try await service.secretGuesses.ofConsole.noteBeginning(by: call)
            }
            try await service.secretGuesses.noteBeginning(by: call)
        }
    }

    // MARK: Passwords

    @Test func `after ten wrong passwords the right one has to wait as well, as long as the answer says`() async throws
    {
        try await Self.run { (fixture, service) async throws in
            for _ in 0..<10 { #expect(try await Self.guess(at: service) == nil) }
            let hashed = fixture.passwordHasher.finished
            #expect(try await Self.guess(at: service) == 90)
            #expect(try await Self.guess(Self.password, at: service) == 90)
            #expect(fixture.passwordHasher.finished == hashed)
            fixture.clock.advance(by: 60)
            let wait = try #require(try await Self.guess(at: service))
            #expect(wait == 30)
            fixture.clock.advance(by: wait - 1)
            #expect(try await Self.guess(at: service) == 1)
            fixture.clock.advance(by: 1)
            // One more, and only one.
            #expect(try await Self.guess(at: service) == nil)
            #expect(try await Self.guess(at: service) == 90)
            fixture.clock.advance(by: 90)
            #expect(try await Self.guess(Self.password, at: service) == nil)
        }
    }

    @Test func `right passwords are not counted`() async throws {
        try await Self.run { (fixture, service) async throws in
            for _ in 0..<30 { #expect(try await Self.guess(Self.password, at: service) == nil) }
            for _ in 0..<10 { #expect(try await Self.guess(at: service) == nil) }
            #expect(try await Self.guess(at: service) == 90)
        }
    }

    @Test func `the right password of a disabled account is no guess`() async throws {
        try await Self.run { (fixture, service) async throws in
            _ = try await fixture.database.execute("UPDATE accounts SET status = 'disabled'")
            for _ in 0..<12 {
                try await expectFailure("accountDisabled") {
                    try await service.passwords.signIn(email: Self.email, password: Self.password, by: fixture.call)
                }
            }
        }
    }

    @Test func `all spellings of an address are one, known, unknown and impossible addresses alike`() async throws {
        try await Self.run { (fixture, service) async throws in
            let people = [
                [
                    "kim@example.com", "Kim@Example.com", "KIM@EXAMPLE.COM", "kim@EXAMPLE.com", "kIm@example.Com",
                    "kim@example.com",
                ],
                [
                    "nobody@bücher.example", "NOBODY@BÜCHER.example", "nobody@xn--bcher-kva.example",
                    "nobody@XN--BCHER-KVA.example",
                ],
                ["no address"],
            ]
            for spellings in people {
                for index in 0..<10 {
                    #expect(
                        try await Self.guess("a wrong password", spellings[index % spellings.count], at: service) == nil
                    )
                }
                for email in spellings {
                    #expect(try await Self.guess(Self.password, email, at: service) == 90, "\(email)")
                }
            }
            // A network, three addresses, and the network at each of them.
            #expect(try await fixture.count("rate_limits") == 7)
        }
    }

    @Test func `binding by password and changing one are the same guesses`() async throws {
        try await Self.run { (fixture, service) async throws in
            let ticket = try await fixture.ticket(.google("g-1")).linkTicket
            let session = try await fixture.session(.apple("a-1")).session
            let kim = try await service.sessions.session(of: session.bearer, by: service.calls.begin(by: .local))
            for _ in 0..<5 {
                try await expectFailure("invalidCredentials") {
                    try await service.tickets.bind(
                        linkTicket: ticket, credential: .password(email: Self.email, password: "a wrong password"),
                        by: fixture.call)
                }
                try await expectFailure("invalidCredentials") {
                    try await service.accounts.changePassword(
                        of: kim, current: "a wrong password", to: "another good password", by: fixture.call)
                }
            }
            #expect(try await Self.guess(Self.password, at: service) == 90)
            await expectFailure(.rateLimited(.passwordPerAccount, retryAfter: 90)) {
                try await service.tickets.bind(
                    linkTicket: ticket, credential: .password(email: Self.email, password: Self.password),
                    by: fixture.call)
            }
            // Of ten that the session has of its own five are left.
            for _ in 0..<5 {
                await expectFailure(.rateLimited(.passwordPerAccount, retryAfter: 90)) {
                    try await service.accounts.changePassword(
                        of: kim, current: "a wrong password", to: "another good password", by: fixture.call)
                }
            }
            await expectFailure(.rateLimited(.passwordPerAccount, retryAfter: 90)) {
                try await service.accounts.changePassword(
                    of: kim, current: Self.password, to: "another good password", by: fixture.call)
            }
            fixture.clock.advance(by: 90)
            #expect(try await Self.guess(at: service) == nil)
            try await service.accounts.changePassword(
                of: kim, current: Self.password, to: "another good password", by: fixture.call)
        }
    }

    @Test func `of fifty wrong passwords at once ten are looked at`() async throws {
        try await Self.run { (fixture, service) async throws in
            let processes = [service, try fixture.service { $0.limits = Self.limits }]
            let hashed = fixture.passwordHasher.finished
            let outcomes = try await race(50) { index in
                try await processes[index % 2].passwords.signIn(
                    email: Self.email, password: "a wrong password \(index)", by: fixture.call)
            }
            #expect(outcomes == ["invalidCredentials": 10, "rateLimited": 40])
            #expect(fixture.passwordHasher.finished == hashed + 10)
        }
    }

    @Test func `processes share the counters, which outlive them`() async throws {
        try await Self.run { (fixture, service) async throws in
            let other = try fixture.service { $0.limits = Self.limits }
            for _ in 0..<5 {
                #expect(try await Self.guess(at: service) == nil)
                #expect(try await Self.guess(at: other) == nil)
            }
            #expect(try await Self.guess(at: service) == 90)
            let restarted = try fixture.service { $0.limits = Self.limits }
            #expect(try await Self.guess(at: restarted) == 90)
        }
    }

    @Test func `a service that has too much to hash gives the guess back`() async throws {
        try await Self.run { fixture, _ in
            let full = try PasswordHasher(cost: SignInFixture.cheap, slots: 1, maximumWaiting: 0)
            let busy = try fixture.service(passwordHasher: full) { $0.limits = Self.limits }
            let outcomes = try await race(8) { _ in
                try await busy.passwords.signIn(email: Self.email, password: Self.password, by: fixture.call)
            }
            #expect(outcomes["rateLimited"] == nil)
            let service = try fixture.service { $0.limits = Self.limits }
            for _ in 0..<10 { #expect(try await Self.guess(at: service) == nil) }
            #expect(try await Self.guess(at: service) == 90)
        }
    }

    // MARK: Networks

    @Test func `a network that has guessed a hundred times waits, whichever account it guesses at`() async throws {
        try await Self.run { (fixture, service) async throws in
            for index in 0..<100 {
                #expect(try await Self.guess("a wrong password", "victim-\(index)@example.com", at: service) == nil)
            }
            #expect(try await Self.guess("a wrong password", "another@example.com", at: service) == 9)
            #expect(try await Self.guess(Self.password, at: service) == 9)
            // Other networks are not limited.
            #expect(try await Self.guess(Self.password, at: service, from: "198.51.100.0/24") == nil)
            // An account that is not even tried gets no row: a hundred and Kim, the network that tried each, and two networks.
            #expect(try await fixture.count("rate_limits") == 204)
            fixture.clock.advance(by: 9)
            #expect(try await Self.guess(Self.password, at: service) == nil)
        }
    }

    @Test func `a guess that has to wait for the account is not counted for the network`() async throws {
        try await Self.run { (fixture, service) async throws in
            for _ in 0..<10 { _ = try await Self.guess(at: service) }
            for _ in 0..<200 { #expect(try await Self.guess(at: service) == 90) }
            for index in 0..<90 {
                #expect(try await Self.guess("a wrong password", "victim-\(index)@example.com", at: service) == nil)
            }
            #expect(try await Self.guess("a wrong password", "another@example.com", at: service) == 9)
        }
    }

    @Test func `from everywhere at once one account is still guessed at ten times`() async throws {
        try await Self.run { (fixture, service) async throws in
            var waits: [Int64?] = []
            for index in 0..<60 { waits.append(try await Self.guess(at: service, from: "10.0.\(index).0/24")) }
            #expect(waits == Array(repeating: nil, count: 10) + Array(repeating: 90, count: 50))
        }
    }

    @Test func `a network registers thirty accounts, and learns of taken addresses no more often`() async throws {
        try await Self.run { (fixture, service) async throws in
            let client = Caller(requestID: "test", address: nil, network: "2001:db8:1:2::/64", device: nil)
            @Sendable func register(_ email: String, _ password: String = Self.password) async throws -> SignedIn {
                try await service.passwords.register(
                    email: email, password: password, displayName: nil, by: service.calls.begin(by: client))
            }
            for index in 0..<15 {
                _ = try await register("new-\(index)@example.com")
                try await expectFailure("emailTaken") { try await register("KIM@example.com") }
            }
            // A request that looks up no address is not counted.
            try await expectFailure("malformedEmail") { try await register("no address") }
            try await expectFailure("weakPassword") { try await register("weak@example.com", "password") }
            let queries = try await fixture.count("accounts")
            for email in ["kim@example.com", "free@example.com"] {
                await expectFailure(.rateLimited(.registrationPerNetwork, retryAfter: 120)) {
                    try await register(email)
                }
            }
            #expect(try await fixture.count("accounts") == queries)
            fixture.clock.advance(by: 120)
            _ = try await register("free@example.com")
            await expectFailure(.rateLimited(.registrationPerNetwork, retryAfter: 120)) {
                try await register("late@example.com")
            }
        }
    }

    @Test func `the networks of a wide one register twenty times as many accounts between them`() async throws {
        try await Self.run([.registrationPerNetwork: .limit(count: 1, seconds: 3600)]) { (_, service) async throws in
            @Sendable func register(_ index: Int) async throws -> SignedIn {
                let client = Caller(
                    requestID: "test", address: nil, network: "2001:db8:1:\(index)::/64",
                    wideNetwork: "2001:db8:1::/48", device: nil)
                return try await service.passwords.register(
                    email: "KIM@example.com", password: Self.password, displayName: nil,
                    by: service.calls.begin(by: client))
            }
            for index in 0..<20 { try await expectFailure("emailTaken") { try await register(index) } }
            await expectFailure(.rateLimited(.registrationPerNetwork, retryAfter: 180)) { try await register(20) }
        }
    }

    // MARK: Without limits

    @Test func `a limit that is off counts nothing`() async throws {
        try await Self.run([.passwordPerAccount: .none, .guessPerNetwork: .none]) { (fixture, service) async throws in
            for _ in 0..<120 { #expect(try await Self.guess(at: service) == nil) }
            #expect(try await fixture.count("rate_limits") == 0)
        }
    }

    @Test func `an account that is guessed at a thousand times still signs in by a provider`() async throws {
        try await Self.run { (fixture, service) async throws in
            for index in 0..<1_000 {
                _ = try await Self.guess(at: service, from: "10.\(index / 250).\(index % 250).0/24")
            }
            let rows: SQL =
                "SELECT string_agg(xmin::text || ctid::text || full_at::text, ' ' ORDER BY limit_key) FROM rate_limits"
            let before = try await fixture.texts(rows)
            let credential = ProviderCredential(token: try fixture.apple("a-1"))
            let client = Caller(requestID: "test", address: "10.0.0.1", network: "10.0.0.0/24", device: nil)
            guard
                case .signedIn = try await service.providers.signIn(
                    with: .apple, credential, by: service.calls.begin(by: client))
            else {
                throw SignInFixture.Unexpected.linkRequired
            }
            // Nor does that touch a counter.
            #expect(try await fixture.texts(rows) == before)
            #expect(try await Self.guess(Self.password, at: service, from: "172.16.0.0/24") == 90)
        }
    }

    // MARK: Rows

    @Test func `a row names nobody`() async throws {
        try await Self.run { (fixture, service) async throws in
            _ = try await Self.guess(at: service)
            _ = try await Self.guess(at: service, from: "2001:db8:1:2::/64")
            let dump = try await fixture.texts(
                "SELECT r::text || encode(limit_key, 'escape') FROM rate_limits r"
            ).compactMap(\.self).joined(separator: " ")
            for name in ["kim", "example", "192.0.2", "2001", "db8", "password", "guess"] {
                #expect(!dump.lowercased().contains(name), "\(name)")
            }
            // Not even by a digest that could be made of a guessed address without the key ring.
            let other = try fixture.service(keyRing: SignInFixture.makeKeyRing(octet: 8)) { $0.limits = Self.limits }
            for _ in 0..<10 { #expect(try await Self.guess(at: other) == nil) }
            #expect(try await fixture.count("rate_limits") == 8)
        }
    }

    @Test func `a row goes when its allowance is whole again, and not before`() async throws {
        try await Self.run { (fixture, service) async throws in
            let sweeper = fixture.storage.sweeper(clock: fixture.clock)
            for _ in 0..<10 { _ = try await Self.guess(at: service) }
            fixture.clock.advance(by: 899)
            _ = try await sweeper.sweep()
            // The network's hundred came back sooner. The account's ten and the network's at the account are there still.
            #expect(try await fixture.count("rate_limits") == 2)
            fixture.clock.advance(by: 2)
            _ = try await sweeper.sweep()
            #expect(try await fixture.count("rate_limits") == 0)
            for _ in 0..<10 { #expect(try await Self.guess(at: service) == nil) }
            #expect(try await Self.guess(at: service) == 90)
        }
    }

    @Test(arguments: [(1, 1), (3, 10), (7, 60), (60, 60), (1, 86_400)])
    func `exactly the allowance can be drawn at once, and one by one as it comes back`(
        count: Int, seconds: Int
    ) async throws {
        try await SignInFixture.run { fixture in
            let store = fixture.storage.limits
            let key = [UInt8](repeating: 1, count: 32)
            let now = fixture.clock.now()
            for _ in 0..<count {
                #expect(try await store.draw(key, count: count, seconds: seconds, by: .at(now)) == nil)
            }
            for _ in 0..<3 {
                let wait = try #require(
                    try await store.draw(key, count: count, seconds: seconds, by: .at(fixture.clock.now())))
                #expect(wait >= 1 && wait <= max(1, (seconds + count - 1) / count))
                fixture.clock.advance(by: wait)
                #expect(try await store.draw(key, count: count, seconds: seconds, by: .at(fixture.clock.now())) == nil)
                #expect(try await store.draw(key, count: count, seconds: seconds, by: .at(fixture.clock.now())) != nil)
            }
            fixture.clock.advance(by: Int64(seconds))
            for _ in 0..<count {
                #expect(try await store.draw(key, count: count, seconds: seconds, by: .at(fixture.clock.now())) == nil)
            }
            #expect(try await store.draw(key, count: count, seconds: seconds, by: .at(fixture.clock.now())) != nil)
        }
    }
}
