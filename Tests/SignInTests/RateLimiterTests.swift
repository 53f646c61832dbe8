import Accounts
import KeyRing
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// An account that has a password and an Apple identity, and a service that has the default limits or others.
private struct LimitedService: TestFixture {
    static let limits: [LimitKind: RateLimit] = [
        .passwordPerAccount: .limit(count: 10, seconds: 900), .guessPerNetwork: .limit(count: 100, seconds: 900),
        .registrationPerNetwork: .limit(count: 30, seconds: 3600),
    ]

    let people: SignInFixture
    let service: SignInService

    static func run(_ body: (LimitedService) async throws -> Void) async throws { try await run(limits, body) }

    static func run(_ limits: [LimitKind: RateLimit], _ body: (LimitedService) async throws -> Void) async throws {
        try await SignInFixture.run { people in
            let kim = try await people.register("kim@example.com")
            _ = try await people.bind(.apple("a-1"), kim.session.credential)
            try await body(LimitedService(people: people, service: try people.service { $0.limits = limits }))
        }
    }
}

/// The limits of guessing and registering, as all processes of the service share them.
@Suite(.fixture(LimitedService.self)) struct RateLimiterTests {
    var fixture: SignInFixture { LimitedService.current.people }
    var service: SignInService { LimitedService.current.service }

    private static let email = "kim@example.com"
    private static let password = SignInFixture.password

    /// Another process with the default limits.
    private func process(keyRing: KeyRing? = nil, passwordHasher: PasswordHasher? = nil) throws -> SignInService {
        try fixture.service(keyRing: keyRing, passwordHasher: passwordHasher) { $0.limits = LimitedService.limits }
    }

    /// The seconds to wait, or `nil` if the password was checked.
    private func guess(
        _ password: String = "a wrong password", _ email: String = email, at process: SignInService? = nil,
        from network: Network? = "192.0.2.0/24"
    ) async throws -> Int64? {
        let service = process ?? service
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

    @Test(.fixture { try await LimitedService.run([.webFlowsPerNetwork: .limit(count: 1, seconds: 3600)], $0) })
    func `what staff use up at the console is taken from nobody else`() async throws {
        let client = Caller(requestID: "test", address: nil, network: "192.0.2.0/24", device: nil)
        let call = service.calls.begin(by: client)
        try await service.secretGuesses.ofConsole.noteBeginning(by: call)
        await #expect(throws: SignInFailure.self) { try await service.secretGuesses.ofConsole.noteBeginning(by: call) }
        try await service.secretGuesses.noteBeginning(by: call)
    }

    // MARK: Passwords

    @Test func `after ten wrong passwords the right one has to wait as well, as long as the answer says`() async throws
    {
        for _ in 0..<10 { #expect(try await guess() == nil) }
        let hashed = fixture.passwordHasher.finished
        #expect(try await guess() == 90)
        #expect(try await guess(Self.password) == 90)
        #expect(fixture.passwordHasher.finished == hashed)
        fixture.clock.advance(by: 60)
        let wait = try #require(try await guess())
        #expect(wait == 30)
        fixture.clock.advance(by: wait - 1)
        #expect(try await guess() == 1)
        fixture.clock.advance(by: 1)
        // One more, and only one.
        #expect(try await guess() == nil)
        #expect(try await guess() == 90)
        fixture.clock.advance(by: 90)
        #expect(try await guess(Self.password) == nil)
    }

    @Test func `right passwords are not counted`() async throws {
        for _ in 0..<30 { #expect(try await guess(Self.password) == nil) }
        for _ in 0..<10 { #expect(try await guess() == nil) }
        #expect(try await guess() == 90)
    }

    @Test func `the right password of a disabled account is no guess`() async throws {
        _ = try await fixture.database.execute("UPDATE accounts SET status = 'disabled'")
        for _ in 0..<12 {
            try await expectFailure("accountDisabled") {
                try await service.passwords.signIn(email: Self.email, password: Self.password, by: fixture.call)
            }
        }
    }

    @Test func `all spellings of an address are one, known, unknown and impossible addresses alike`() async throws {
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
                #expect(try await guess("a wrong password", spellings[index % spellings.count]) == nil)
            }
            for email in spellings { #expect(try await guess(Self.password, email) == 90, "\(email)") }
        }
        // A network, three addresses, and the network at each of them.
        #expect(try await fixture.count("rate_limits") == 7)
    }

    @Test func `binding by password and changing one are the same guesses`() async throws {
        let ticket = try await fixture.ticket(.google("g-1")).linkTicket
        let session = try await fixture.session(.apple("a-1")).session
        let kim = try await service.sessions.session(of: session.bearer, by: service.calls.begin(by: .local))
        let wait = SignInFailure.rateLimited(.passwordPerAccount, retryAfter: 90)
        @Sendable func bind(_ password: String = "a wrong password") async throws -> SignInAnswer {
            try await service.tickets.bind(
                linkTicket: ticket, credential: .password(email: Self.email, password: password), by: fixture.call)
        }
        @Sendable func change(_ password: String = "a wrong password") async throws {
            try await service.accounts.changePassword(
                of: kim, current: password, to: "another good password", by: fixture.call)
        }
        for _ in 0..<5 {
            try await expectFailure("invalidCredentials") { try await bind() }
            try await expectFailure("invalidCredentials") { try await change() }
        }
        #expect(try await guess(Self.password) == 90)
        await expectFailure(wait) { try await bind(Self.password) }
        // Of ten that the session has of its own five are left.
        for _ in 0..<5 { await expectFailure(wait) { try await change() } }
        await expectFailure(wait) { try await change(Self.password) }
        fixture.clock.advance(by: 90)
        #expect(try await guess() == nil)
        try await change(Self.password)
    }

    @Test func `of fifty wrong passwords at once ten are looked at`() async throws {
        let processes = [service, try process()]
        let hashed = fixture.passwordHasher.finished
        let outcomes = try await race(50) { index in
            try await processes[index % 2].passwords.signIn(
                email: Self.email, password: "a wrong password \(index)", by: fixture.call)
        }
        #expect(outcomes == ["invalidCredentials": 10, "rateLimited": 40])
        #expect(fixture.passwordHasher.finished == hashed + 10)
    }

    @Test func `processes share the counters, which outlive them`() async throws {
        let other = try process()
        for _ in 0..<5 {
            #expect(try await guess() == nil)
            #expect(try await guess(at: other) == nil)
        }
        #expect(try await guess() == 90)
        let restarted = try process()
        #expect(try await guess(at: restarted) == 90)
    }

    @Test func `a service that has too much to hash gives the guess back`() async throws {
        let busy = try process(passwordHasher: PasswordHasher(cost: SignInFixture.cheap, slots: 1, maximumWaiting: 0))
        let outcomes = try await race(8) { _ in
            try await busy.passwords.signIn(email: Self.email, password: Self.password, by: fixture.call)
        }
        #expect(outcomes["rateLimited"] == nil)
        for _ in 0..<10 { #expect(try await guess() == nil) }
        #expect(try await guess() == 90)
    }

    // MARK: Networks

    @Test func `a network that has guessed a hundred times waits, whichever account it guesses at`() async throws {
        for index in 0..<100 { #expect(try await guess("a wrong password", "victim-\(index)@example.com") == nil) }
        #expect(try await guess("a wrong password", "another@example.com") == 9)
        #expect(try await guess(Self.password) == 9)
        // Other networks are not limited.
        #expect(try await guess(Self.password, from: "198.51.100.0/24") == nil)
        // An account that is not even tried gets no row: a hundred and Kim, the network that tried each, and two networks.
        #expect(try await fixture.count("rate_limits") == 204)
        fixture.clock.advance(by: 9)
        #expect(try await guess(Self.password) == nil)
    }

    @Test func `a guess that has to wait for the account is not counted for the network`() async throws {
        for _ in 0..<10 { _ = try await guess() }
        for _ in 0..<200 { #expect(try await guess() == 90) }
        for index in 0..<90 { #expect(try await guess("a wrong password", "victim-\(index)@example.com") == nil) }
        #expect(try await guess("a wrong password", "another@example.com") == 9)
    }

    @Test func `from everywhere at once one account is still guessed at ten times`() async throws {
        var waits: [Int64?] = []
        for index in 0..<60 { waits.append(try await guess(from: "10.0.\(index).0/24")) }
        #expect(waits == Array(repeating: nil, count: 10) + Array(repeating: 90, count: 50))
    }

    @Test func `a network registers thirty accounts, and learns of taken addresses no more often`() async throws {
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
        let wait = SignInFailure.rateLimited(.registrationPerNetwork, retryAfter: 120)
        for email in ["kim@example.com", "free@example.com"] { await expectFailure(wait) { try await register(email) } }
        #expect(try await fixture.count("accounts") == queries)
        fixture.clock.advance(by: 120)
        _ = try await register("free@example.com")
        await expectFailure(wait) { try await register("late@example.com") }
    }

    @Test(.fixture { try await LimitedService.run([.registrationPerNetwork: .limit(count: 1, seconds: 3600)], $0) })
    func `the networks of a wide one register twenty times as many accounts between them`() async throws {
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

    // MARK: Without limits

    @Test(.fixture { try await LimitedService.run([.passwordPerAccount: .none, .guessPerNetwork: .none], $0) })
    func `a limit that is off counts nothing`() async throws {
        for _ in 0..<120 { #expect(try await guess() == nil) }
        #expect(try await fixture.count("rate_limits") == 0)
    }

    @Test func `an account that is guessed at a thousand times still signs in by a provider`() async throws {
        for index in 0..<1_000 { _ = try await guess(from: "10.\(index / 250).\(index % 250).0/24") }
        let rows: SQL =
            "SELECT string_agg(xmin::text || ctid::text || full_at::text, ' ' ORDER BY limit_key) FROM rate_limits"
        let before = try await fixture.texts(rows)
        let credential = ProviderCredential(token: try fixture.apple("a-1"))
        let client = Caller(requestID: "test", address: "10.0.0.1", network: "10.0.0.0/24", device: nil)
        _ = try await service.providers.signIn(with: .apple, credential, by: service.calls.begin(by: client)).session
        // Nor does that touch a counter.
        #expect(try await fixture.texts(rows) == before)
        #expect(try await guess(Self.password, from: "172.16.0.0/24") == 90)
    }

    // MARK: Clocks

    /// Sets the processes' clock to the database's, whose goes on by as much as the test takes.
    private func setClock() async throws { fixture.clock.set(to: try await fixture.storage.databaseTime().seconds) }

    @Test func `a process whose clock is an hour ahead makes nobody wait longer`() async throws {
        try await setClock()
        fixture.clock.advance(by: 3600)
        for _ in 0..<10 { #expect(try await guess() == nil) }
        let there = try #require(try await guess())
        try await setClock()
        let here = try #require(try await guess())
        #expect(60...120 ~= there && 60...120 ~= here, "\(there), \(here)")
    }

    @Test func `what a clock left that was a year ahead is over within the period`() async throws {
        try await setClock()
        #expect(try await guess() == nil)
        _ = try await fixture.database.execute("UPDATE rate_limits SET full_at = full_at + interval '1 year'")
        // Then as much is used up as can be, of the network first.
        let network = try #require(try await guess())
        let account = try #require(try await guess(from: "198.51.100.0/24"))
        #expect(9...39 ~= network && 90...120 ~= account, "\(network), \(account)")
        let kept = try await fixture.texts(
            "SELECT count(*)::text FROM rate_limits WHERE full_at <= clock_timestamp() + interval '900 seconds'")
        // The network's and the address's, and what the other network has drawn of its own.
        #expect(kept == ["4"])
    }

    @Test(.fixture { try await LimitedService.run([.passwordPerAccount: .limit(count: 10, seconds: 864_000)], $0) })
    func `a period that is made shorter is the shorter one at once`() async throws {
        for _ in 0..<10 { #expect(try await guess() == nil) }
        #expect(try await guess() == 86_400)
        // It counts by itself.
        let shorter = try process()
        for _ in 0..<10 { #expect(try await guess(at: shorter) == nil) }
        #expect(try await guess(at: shorter) == 90)
        #expect(try await guess() == 86_400)
    }

    @Test(.fixture { try await LimitedService.run([.passwordPerAccount: .limit(count: 10, seconds: 864_000)], $0) })
    func `two processes whose periods differ allow in turns no more than each by itself`() async throws {
        try await setClock()
        let processes = [service, try process()]
        var allowed = [0, 0]
        for index in 0..<60 {
            let wait = try await guess(at: processes[index % 2], from: "10.0.\(index).0/24")
            if wait == nil { allowed[index % 2] += 1 }
        }
        #expect(allowed == [10, 10])
    }

    // MARK: Rows

    @Test func `a row names nobody`() async throws {
        _ = try await guess()
        _ = try await guess(from: "2001:db8:1:2::/64")
        let dump = try await fixture.texts(
            "SELECT r::text || encode(limit_key, 'escape') FROM rate_limits r"
        ).compactMap(\.self).joined(separator: " ")
        for name in ["kim", "example", "192.0.2", "2001", "db8", "password", "guess"] {
            #expect(!dump.lowercased().contains(name), "\(name)")
        }
        // Not even by a digest that could be made of a guessed address without the key ring.
        let other = try process(keyRing: SignInFixture.makeKeyRing(octet: 8))
        for _ in 0..<10 { #expect(try await guess(at: other) == nil) }
        #expect(try await fixture.count("rate_limits") == 8)
    }

    @Test func `a row goes when its allowance is whole again, and not before`() async throws {
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        for _ in 0..<10 { _ = try await guess() }
        fixture.clock.advance(by: 899)
        _ = try await sweeper.sweep()
        // The network's hundred came back sooner. The account's ten and the network's at the account are there still.
        #expect(try await fixture.count("rate_limits") == 2)
        fixture.clock.advance(by: 2)
        _ = try await sweeper.sweep()
        #expect(try await fixture.count("rate_limits") == 0)
        for _ in 0..<10 { #expect(try await guess() == nil) }
        #expect(try await guess() == 90)
    }

    @Test(arguments: [(1, 1), (3, 10), (7, 60), (60, 60), (1, 86_400)])
    func `exactly the allowance can be drawn at once, and one by one as it comes back`(
        count: Int, seconds: Int
    ) async throws {
        func draw() async throws -> Int64? {
            try await fixture.storage.limits.draw(
                [UInt8](repeating: 1, count: 32), count: count, seconds: seconds, by: .at(fixture.clock.now()))
        }
        for _ in 0..<count { #expect(try await draw() == nil) }
        for _ in 0..<3 {
            let wait = try #require(try await draw())
            #expect(wait >= 1 && wait <= max(1, (seconds + count - 1) / count))
            fixture.clock.advance(by: wait)
            #expect(try await draw() == nil)
            #expect(try await draw() != nil)
        }
        fixture.clock.advance(by: Int64(seconds))
        for _ in 0..<count { #expect(try await draw() == nil) }
        #expect(try await draw() != nil)
    }
}
