import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// What others use up keeps nobody out of where they usually are, and shows nobody whose networks those are.
@Suite(.fixture(HomeFixture.self)) struct KnownNetworkLimitTests {
    var fixture: HomeFixture { .current }

    private static let email = HomeFixture.email
    private static let home = HomeFixture.home
    private static let elsewhere: Network = "198.51.100.0/24"
    private static let refused = "\(SignInFailure.rateLimited(.passwordPerAccount, retryAfter: 90))"

    // MARK: Passwords

    @Test func `after ten wrong passwords from elsewhere the owner signs in at home, and nowhere else`() async throws {
        try await fixture.useUpPassword()
        for network in [Self.elsewhere, nil] {
            let answer = try await fixture.guess(SignInFixture.password, from: network)
            #expect(answer == (network == nil ? Self.refused : "\(Self.refused), hashed"))
        }
        for _ in 0..<20 {
            #expect(try await fixture.guess(SignInFixture.password, from: Self.home) == "signedIn, hashed")
        }
    }

    @Test func `an imported password stays as it is where it is refused, though it is right`() async throws {
        let bcrypt = "$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"
        try await fixture.people.database.execute(
            "UPDATE accounts SET password_hash = \(bcrypt), password_is_unused = true")
        try await fixture.useUpPassword()
        #expect(try await fixture.guess("test", from: Self.elsewhere) == "\(Self.refused), hashed")
        let kept: SQL = "accounts WHERE password_hash = \(bcrypt) AND password_is_unused"
        #expect(try await fixture.people.count(kept) == 1)
        #expect(try await fixture.guess("test", from: Self.home) == "signedIn, hashed")
        #expect(try await fixture.people.count(kept) == 0)
    }

    @Test func `at home there are ten wrong passwords too`() async throws {
        try await fixture.useUpPassword()
        for _ in 0..<10 { _ = try await fixture.guess(from: Self.home) }
        #expect(try await fixture.guess(SignInFixture.password, from: Self.home) == Self.refused)
    }

    @Test func `neither an answer nor its work shows from where an account is used, or that there is one`() async throws
    {
        _ = try await fixture.people.signUp(.google("1", SignInFixture.email("plain@example.com")))
        let people = [Self.email, "nobody@example.com", "plain@example.com", "no address"]
        var seen: [[String]] = []
        for (number, email) in people.enumerated() {
            var answers: [String] = []
            for index in 0..<12 {
                answers.append(try await fixture.guess(at: email, from: "10.\(number).\(index).0/24"))
            }
            // Until the network has none left of its own.
            for network in [Self.home, Self.elsewhere] {
                for _ in 0..<12 { answers.append(try await fixture.guess(at: email, from: network)) }
            }
            seen.append(answers)
        }
        #expect(Set(seen).count == 1, "\(seen)")
        let last = Array(repeating: "\(Self.refused), hashed", count: 10) + [Self.refused, Self.refused]
        #expect(Array(seen[0].suffix(12)) == last)
    }

    @Test func `a disabled account shows as such only to who may try its password`() async throws {
        try await fixture.people.database.execute("UPDATE accounts SET status = 'disabled'")
        try await fixture.useUpPassword()
        for (network, answer) in [(Self.elsewhere, Self.refused), (Self.home, "\(SignInFailure.accountDisabled)")] {
            #expect(try await fixture.guess(SignInFixture.password, from: network) == "\(answer), hashed")
        }
    }

    @Test func `an address that looks like a network and an address draws on nobody's allowance`() async throws {
        for _ in 0..<11 { _ = try await fixture.guess(at: "\(Self.home) \(Self.email)", from: nil) }
        try await fixture.useUpPassword()
        #expect(try await fixture.guess(SignInFixture.password, from: Self.home) == "signedIn, hashed")
    }

    private static let ofWideNetwork: [LimitKind: RateLimit] = [
        .guessPerNetwork: .limit(count: 2, seconds: 900), .guessPerWideNetwork: .limit(count: 5, seconds: 900),
    ]

    @Test(.fixture { try await HomeFixture.run(ofWideNetwork, $0) })
    func `a wide network guesses two thousand times, however many networks it is`() async throws {
        func guess(_ number: Int, wide: Network) async throws -> String {
            let caller = HomeFixture.client("2001:db8:1:\(number)::/64", wide: wide)
            return try await failure {
                try await fixture.service.passwords.signIn(
                    email: "nobody\(number)@example.com", password: HomeFixture.wrong,
                    by: fixture.service.calls.begin(by: caller))
            }
        }
        for number in 0..<5 { #expect(try await guess(number, wide: "2001:db8:1::/48") == "invalidCredentials") }
        #expect(try await guess(5, wide: "2001:db8:1::/48") == "rateLimited")
        #expect(try await guess(5, wide: "2001:db8:2::/48") == "invalidCredentials")
        // What the wide network was refused cost the narrow one nothing.
        #expect(try await guess(5, wide: "2001:db8:2::/48") == "invalidCredentials")
        #expect(try await guess(5, wide: "2001:db8:2::/48") == "rateLimited")
    }

    // MARK: Codes

    @Test func `when others have used up a code it is good at home, and nowhere else`() async throws {
        let code = try await fixture.people.code(.signIn, for: Self.email)
        try await fixture.useUp(code)
        for network in [Self.elsewhere, nil] {
            try await expectFailure("invalidCredentials") { try await fixture.signIn(code: code, from: network) }
        }
        _ = try await fixture.signIn(code: code, from: Self.home).session
    }

    @Test func `under attack a code has ten digits, until one is right`() async throws {
        let people = fixture.people
        let short = try await people.code(.signIn, for: Self.email)
        #expect(short.utf8.count == 6)
        try await fixture.useUp(short)
        let long = try await people.code(.signIn, for: Self.email)
        #expect(long.utf8.count == 10)
        #expect(!long.contains(short))
        _ = try await people.signIn(Self.email, code: " \(long.prefix(5)) \(long.suffix(5))")
        #expect(try await people.code(.signIn, for: Self.email).utf8.count == 6)
    }

    @Test func `an attack on an address without an account is remembered alike`() async throws {
        let address = "nobody@example.com"
        try await fixture.useUp(try await fixture.people.code(.signIn, for: address), of: address)
        #expect(try await fixture.people.code(.signIn, for: address).utf8.count == 10)
        let rows = try await fixture.people.texts("SELECT g::text FROM guessed_addresses g")
        let dump = rows.compactMap(\.self).joined()
        #expect(!dump.contains("nobody") && !dump.contains("example"))
    }

    @Test(.fixture { try await HomeFixture.run([.guessPerService: .limit(count: 3, seconds: 900)], $0) })
    func `beyond the limit of the whole service every new code has ten digits, and nothing is refused`() async throws {
        func digits(_ purpose: EmailCodePurpose) async throws -> Int {
            try await fixture.ask(purpose, from: nil)
            return try await fixture.people.digits(purpose, of: Self.email).utf8.count
        }
        for _ in 0..<2 { _ = try await fixture.guess(at: "a@example.com", from: nil) }
        // Right passwords are not counted.
        _ = try await fixture.guess(SignInFixture.password, from: nil)
        #expect(try await digits(.signIn) == 6)
        try await expectFailure("invalidCredentials") {
            try await fixture.signIn(code: "123456", of: "b@example.com", from: nil)
        }
        #expect(try await digits(.resetPassword) == 10)
        #expect(try await digits(.signIn) == 6)
        for _ in 0..<5 {
            let answer = try await fixture.guess(at: "a@example.com", from: nil)
            #expect(answer == "\(SignInFailure.invalidCredentials), hashed")
        }
        fixture.people.clock.advance(by: 900)
        #expect(try await digits(.signIn) == 6)
    }

    // MARK: Requests for codes

    @Test func `what others ask for leaves the owner codes at home, and answers nobody differently`() async throws {
        let people = fixture.people
        // Six new codes, from six networks.
        for number in 0..<6 {
            let ticket = try await people.ticket(.google("\(number)"))
            try await fixture.ask(.bind, for: ticket, from: "10.0.\(number).0/24")
        }
        #expect(try await people.mails(.bindCode).count == 6)
        // From then on a request is answered as ever.
        for network in [Self.elsewhere, Self.home] { try await fixture.ask(.signIn, from: network) }
        // So is one from an unknown network, for which no code is made.
        try await fixture.ask(.resetPassword, from: nil)
        #expect(try await people.count("mailed_codes WHERE purpose = 'resetPassword'") == 0)
        let queued = try await people.texts(
            "SELECT known_network FROM outbox WHERE template = 'sign_in_code' ORDER BY known_network")
        #expect(queued == [Self.elsewhere.text, Self.home.text])
        let now = people.clock.now()
        _ = try await people.database.execute("DELETE FROM outbox WHERE template = 'bind_code'")
        var held: [Bool] = []
        for _ in 0..<2 {
            let claimed = try await people.storage.mails.claim(by: .at(now), lease: 30)
            held += claimed.work.map { $0.holderProof != nil }
        }
        #expect(held.sorted { !$0 && $1 } == [false, true])
        // Both are of one code, and it is good.
        _ = try await fixture.signIn(code: try await people.digits(.signIn, of: Self.email), from: Self.home)
    }

    @Test func `a network gets six new codes for an address, whatever others ask for`() async throws {
        for (network, made) in [(Self.elsewhere, 6), (Self.home, 12)] as [(Network, Int64)] {
            for number in 0..<6 {
                try await fixture.ask(.bind, for: try await fixture.people.ticket(.google("\(number)")), from: network)
            }
            try await fixture.ask(.bind, for: try await fixture.people.ticket(.google("6")), from: network)
            #expect(try await fixture.people.count("mailed_codes") == made)
        }
        // At home also those that were drawn on its own allowance, since the others had used up theirs.
        try await fixture.service.refusals.flush()
        let refused = try await fixture.people.texts(
            """
            SELECT concat_ws(' ', network, occurrences)
            FROM audit_events
            WHERE type = 'rate_limited' AND reason = 'mailPerAddress'
            ORDER BY network
            """)
        #expect(refused == ["\(Self.elsewhere.text) 1", "\(Self.home.text) 7"])
    }
}

/// An account that has proven its address and signed in from its home, and what callers from anywhere try with it.
struct HomeFixture: TestFixture {
    static let email = "kim@example.com"
    static let home: Network = "203.0.113.0/24"
    static let wrong = "a wrong password"

    let people: SignInFixture
    /// The same with limits.
    let service: SignInService

    static func run(_ body: (HomeFixture) async throws -> Void) async throws {
        let limits: [LimitKind: RateLimit] = [
            .passwordPerAccount: .limit(count: 10, seconds: 900), .guessPerNetwork: .limit(count: 100, seconds: 900),
            .guessPerWideNetwork: .limit(count: 2000, seconds: 900), .mailPerAddress: .limit(count: 6, seconds: 3600),
        ]
        try await run(limits, body)
    }

    static func run(_ limits: [LimitKind: RateLimit], _ body: (HomeFixture) async throws -> Void) async throws {
        try await SignInFixture.withMail { people in
            _ = try await people.member(email)
            _ = try await people.signIn(email, by: client(home))
            try await people.forgetMails()
            try await people.database.execute("DELETE FROM mailed_codes")
            try await body(HomeFixture(people: people, service: try people.service { $0.limits = limits }))
        }
    }

    static func client(_ network: Network?, wide: Network? = nil) -> Caller {
        Caller(requestID: "test", address: nil, network: network, wideNetwork: wide, device: nil)
    }

    private func call(from network: Network?) -> Call { service.calls.begin(by: Self.client(network)) }

    /// The answer to a password, and whether one was hashed for it.
    func guess(_ password: String = wrong, at email: String = email, from network: Network?) async throws -> String {
        let hashed = people.passwordHasher.finished
        var answer = "signedIn"
        do throws(SignInFailure) {
            _ = try await service.passwords.signIn(email: email, password: password, by: call(from: network))
        } catch { answer = "\(error)" }
        return people.passwordHasher.finished == hashed ? answer : "\(answer), hashed"
    }

    /// Ten wrong passwords, from as many networks.
    func useUpPassword() async throws { for number in 0..<10 { _ = try await guess(from: "10.0.\(number).0/24") } }

    func signIn(code: String, of email: String = email, from network: Network?) async throws -> SignInAnswer {
        try await service.emailCodes.signIn(email: email, code: code, by: call(from: network))
    }

    /// Five wrong codes from each of four networks.
    func useUp(_ code: String, of email: String = email) async throws {
        for number in 0..<20 {
            try await expectFailure("invalidCredentials") {
                try await signIn(code: SignInFixture.wrong(code), of: email, from: "10.0.\(number / 5).0/24")
            }
        }
    }

    /// Asks for a code by mail.
    func ask(_ purpose: EmailCodePurpose, for ticket: LinkRequired? = nil, from network: Network?) async throws {
        try await service.emailCodes.mailCode(
            to: Self.email, for: purpose, linkTicket: ticket?.linkTicket, by: call(from: network))
    }
}
