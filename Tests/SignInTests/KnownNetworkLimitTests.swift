import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// What others use up keeps nobody out of where they usually are, and shows nobody whose networks those are.
@Suite struct KnownNetworkLimitTests {
    private static let email = "kim@example.com"
    private static let home: Network = "203.0.113.0/24"
    private static let elsewhere: Network = "198.51.100.0/24"
    private static let limits: [LimitKind: RateLimit] = [
        .passwordPerAccount: .limit(count: 10, seconds: 900), .guessPerNetwork: .limit(count: 100, seconds: 900),
        .guessPerWideNetwork: .limit(count: 2000, seconds: 900), .mailPerAddress: .limit(count: 6, seconds: 3600),
    ]

    private static func client(_ network: Network?, wide: Network? = nil) -> Caller {
        Caller(requestID: "test", address: nil, network: network, wideNetwork: wide, device: nil)
    }

    /// Runs `body` with an account that has proven its address and signed in from its home.
    private static func run(
        _ limits: [LimitKind: RateLimit] = limits, _ body: (SignInFixture, SignInService) async throws -> Void
    ) async throws {
        try await SignInFixture.withMail { fixture in
            _ = try await fixture.member(email)
            _ = try await fixture.signIn(email, by: client(home))
            try await fixture.forgetMails()
            try await fixture.database.execute("DELETE FROM mailed_codes")
            try await body(fixture, try fixture.service { $0.limits = limits })
        }
    }

    /// The answer to a password, and whether one was hashed for it.
    private static func guess(
        _ password: String, _ email: String = email, from network: Network?, _ fixture: SignInFixture,
        _ service: SignInService
    ) async throws -> String {
        let hashed = fixture.passwordHasher.finished
        var answer = "signedIn"
        do throws(SignInFailure) {
            _ = try await service.passwords.signIn(
                email: email, password: password, by: service.calls.begin(by: client(network)))
        } catch {
            answer = "\(error)"
        }
        return fixture.passwordHasher.finished == hashed ? answer : "\(answer), hashed"
    }

    private static let wrong = "a wrong password"
    private static let refused = "\(SignInFailure.rateLimited(.passwordPerAccount, retryAfter: 90))"

    // MARK: Passwords

    @Test func `after ten wrong passwords from elsewhere the owner signs in at home, and nowhere else`() async throws {
        try await Self.run { (fixture, service) async throws in
            for number in 0..<10 {
                _ = try await Self.guess(Self.wrong, from: "10.0.\(number).0/24", fixture, service)
            }
            for network in [Self.elsewhere, nil] {
                let answer = try await Self.guess(SignInFixture.password, from: network, fixture, service)
                #expect(answer == (network == nil ? Self.refused : "\(Self.refused), hashed"))
            }
            for _ in 0..<20 {
                let answer = try await Self.guess(SignInFixture.password, from: Self.home, fixture, service)
                #expect(answer == "signedIn, hashed")
            }
        }
    }

    @Test func `at home there are ten wrong passwords too`() async throws {
        try await Self.run { (fixture, service) async throws in
            for number in 0..<10 {
                _ = try await Self.guess(Self.wrong, from: "10.0.\(number).0/24", fixture, service)
            }
            for _ in 0..<10 { _ = try await Self.guess(Self.wrong, from: Self.home, fixture, service) }
            #expect(try await Self.guess(SignInFixture.password, from: Self.home, fixture, service) == Self.refused)
        }
    }

    @Test func `neither an answer nor its work shows from where an account is used, or that there is one`() async throws
    {
        try await Self.run { (fixture, service) async throws in
            _ = try await fixture.signUp(.google("1", SignInFixture.email("plain@example.com")))
            let people = [Self.email, "nobody@example.com", "plain@example.com", "no address"]
            var seen: [[String]] = []
            for (number, email) in people.enumerated() {
                var answers: [String] = []
                for index in 0..<12 {
                    answers.append(
                        try await Self.guess(Self.wrong, email, from: "10.\(number).\(index).0/24", fixture, service))
                }
                // Until the network has none left of its own.
                for network in [Self.home, Self.elsewhere] {
                    for _ in 0..<12 {
                        answers.append(try await Self.guess(Self.wrong, email, from: network, fixture, service))
                    }
                }
                seen.append(answers)
            }
            #expect(Set(seen).count == 1, "\(seen)")
            #expect(
                seen[0].suffix(12) == Array(repeating: "\(Self.refused), hashed", count: 10) + [
                    Self.refused, Self.refused,
                ])
        }
    }

    @Test func `a disabled account shows as such only to who may try its password`() async throws {
        try await Self.run { (fixture, service) async throws in
            try await fixture.database.execute("UPDATE accounts SET status = 'disabled'")
            for number in 0..<10 {
                _ = try await Self.guess(Self.wrong, from: "10.0.\(number).0/24", fixture, service)
            }
            for (network, answer) in [
                (Self.elsewhere, Self.refused), (Self.home, "\(SignInFailure.accountDisabled)"),
            ] {
                #expect(
                    try await Self.guess(SignInFixture.password, from: network, fixture, service)
                        == "\(answer), hashed")
            }
        }
    }

    @Test func `an address that looks like a network and an address draws on nobody's allowance`() async throws {
        try await Self.run { (fixture, service) async throws in
            for _ in 0..<11 {
                _ = try await Self.guess(Self.wrong, "\(Self.home) \(Self.email)", from: nil, fixture, service)
            }
            for number in 0..<10 {
                _ = try await Self.guess(Self.wrong, from: "10.0.\(number).0/24", fixture, service)
            }
            #expect(
                try await Self.guess(SignInFixture.password, from: Self.home, fixture, service) == "signedIn, hashed")
        }
    }

    @Test func `a wide network guesses two thousand times, however many networks it is`() async throws {
        try await Self.run([
            .guessPerNetwork: .limit(count: 2, seconds: 900), .guessPerWideNetwork: .limit(count: 5, seconds: 900),
        ]) { (fixture, service) async throws in
            func guess(_ number: Int, wide: Network) async throws -> String {
                try await failure {
                    try await service.passwords.signIn(
                        email: "nobody\(number)@example.com", password: Self.wrong,
                        by: service.calls.begin(by: Self.client("2001:db8:1:\(number)::/64", wide: wide)))
                }
            }
            for number in 0..<5 { #expect(try await guess(number, wide: "2001:db8:1::/48") == "invalidCredentials") }
            #expect(try await guess(5, wide: "2001:db8:1::/48") == "rateLimited")
            #expect(try await guess(5, wide: "2001:db8:2::/48") == "invalidCredentials")
            // What the wide network was refused cost the narrow one nothing.
            #expect(try await guess(5, wide: "2001:db8:2::/48") == "invalidCredentials")
            #expect(try await guess(5, wide: "2001:db8:2::/48") == "rateLimited")
        }
    }

    // MARK: Codes

    /// Five wrong codes from each of four networks.
    private static func useUp(_ code: String, _ fixture: SignInFixture, _ service: SignInService) async throws {
        for number in 0..<20 {
            try await expectFailure("invalidCredentials") {
                try await service.emailCodes.signIn(
                    email: email, code: SignInFixture.wrong(code),
                    by: service.calls.begin(by: client("10.0.\(number / 5).0/24")))
            }
        }
    }

    @Test func `when others have used up a code it is good at home, and nowhere else`() async throws {
        try await Self.run { (fixture, service) async throws in
            let code = try await fixture.code(.signIn, for: Self.email)
            try await Self.useUp(code, fixture, service)
            for network in [Self.elsewhere, nil] {
                try await expectFailure("invalidCredentials") {
                    try await service.emailCodes.signIn(
                        email: Self.email, code: code, by: service.calls.begin(by: Self.client(network)))
                }
            }
            let answer = try await service.emailCodes.signIn(
                email: Self.email, code: code, by: service.calls.begin(by: Self.client(Self.home)))
            guard case .signedIn = answer else { throw SignInFixture.Unexpected.linkRequired }
        }
    }

    @Test func `under attack a code has ten digits, until one is right`() async throws {
        try await Self.run { (fixture, service) async throws in
            let short = try await fixture.code(.signIn, for: Self.email)
            #expect(short.utf8.count == 6)
            try await Self.useUp(short, fixture, service)
            let long = try await fixture.code(.signIn, for: Self.email)
            #expect(long.utf8.count == 10)
            #expect(!long.contains(short))
            _ = try await fixture.signIn(Self.email, code: " \(long.prefix(5)) \(long.suffix(5))")
            #expect(try await fixture.code(.signIn, for: Self.email).utf8.count == 6)
        }
    }

    @Test func `an attack on an address without an account is remembered alike`() async throws {
        try await Self.run { (fixture, service) async throws in
            let address = "nobody@example.com"
            let code = try await fixture.code(.signIn, for: address)
            for number in 0..<20 {
                try await expectFailure("invalidCredentials") {
                    try await service.emailCodes.signIn(
                        email: address, code: SignInFixture.wrong(code),
                        by: service.calls.begin(by: Self.client("10.0.\(number / 5).0/24")))
                }
            }
            #expect(try await fixture.code(.signIn, for: address).utf8.count == 10)
            let dump = try await fixture.texts("SELECT g::text FROM guessed_addresses g").compactMap(\.self).joined()
            #expect(!dump.contains("nobody") && !dump.contains("example"))
        }
    }

    @Test func `beyond the limit of the whole service every new code has ten digits, and nothing is refused`()
        async throws
    {
        try await Self.run([.guessPerService: .limit(count: 3, seconds: 900)]) { (fixture, service) async throws in
            func digits(_ purpose: EmailCodePurpose) async throws -> Int {
                try await service.emailCodes.mailCode(to: Self.email, for: purpose, by: fixture.call)
                return try await fixture.digits(purpose, of: Self.email).utf8.count
            }
            for _ in 0..<2 { _ = try await Self.guess(Self.wrong, "a@example.com", from: nil, fixture, service) }
            // Right passwords are not counted.
            _ = try await Self.guess(SignInFixture.password, from: nil, fixture, service)
            #expect(try await digits(.signIn) == 6)
            try await expectFailure("invalidCredentials") {
                try await service.emailCodes.signIn(email: "b@example.com", code: "123456", by: fixture.call)
            }
            #expect(try await digits(.resetPassword) == 10)
            #expect(try await digits(.signIn) == 6)
            for _ in 0..<5 {
                let answer = try await Self.guess(Self.wrong, "a@example.com", from: nil, fixture, service)
                #expect(answer == "\(SignInFailure.invalidCredentials), hashed")
            }
            fixture.clock.advance(by: 900)
            #expect(try await digits(.signIn) == 6)
        }
    }

    // MARK: Requests for codes

    @Test func `what others ask for leaves the owner codes at home, and answers nobody differently`() async throws {
        try await Self.run { (fixture, service) async throws in
            @Sendable func ask(_ network: Network?, _ purpose: EmailCodePurpose, ticket: LinkRequired? = nil)
                async throws
            {
                try await service.emailCodes.mailCode(
                    to: Self.email, for: purpose, linkTicket: ticket?.linkTicket,
                    by: service.calls.begin(by: Self.client(network)))
            }
            // Six new codes, from six networks.
            for number in 0..<6 {
                let ticket = try await fixture.ticket(.google("\(number)"))
                try await ask("10.0.\(number).0/24", .bind, ticket: ticket)
            }
            #expect(try await fixture.mails(.bindCode).count == 6)
            // From then on a request is answered as ever.
            try await ask(Self.elsewhere, .signIn)
            try await ask(Self.home, .signIn)
            await expectFailure(.rateLimited(.mailPerAddress, retryAfter: 600)) { try await ask(nil, .resetPassword) }
            let queued = try await fixture.texts(
                "SELECT known_network FROM outbox WHERE template = 'sign_in_code' ORDER BY known_network")
            #expect(queued == [Self.elsewhere.text, Self.home.text])
            let now = fixture.clock.now()
            _ = try await fixture.database.execute("DELETE FROM outbox WHERE template = 'bind_code'")
            var held: [Bool] = []
            for _ in 0..<2 {
                let claimed = try await fixture.storage.mails.claim(
                    by: .at(now), claimedUntil: now.advanced(bySeconds: 30))
                held += claimed.work.map { $0.holderProof != nil }
            }
            #expect(held.sorted { !$0 && $1 } == [false, true])
            // Both are of one code, and it is good.
            let code = try await fixture.digits(.signIn, of: Self.email)
            _ = try await service.emailCodes.signIn(
                email: Self.email, code: code, by: service.calls.begin(by: Self.client(Self.home)))
        }
    }

    @Test func `a network asks for six new codes for an address, whatever others ask for`() async throws {
        try await Self.run { (fixture, service) async throws in
            for network in [Self.elsewhere, Self.home] {
                for number in 0..<7 {
                    let ticket = try await fixture.ticket(.google("\(number)"))
                    let ask = { @Sendable () async throws in
                        try await service.emailCodes.mailCode(
                            to: Self.email, for: .bind, linkTicket: ticket.linkTicket,
                            by: service.calls.begin(by: Self.client(network)))
                    }
                    if number < 6 {
                        try await ask()
                    } else {
                        await expectFailure(.rateLimited(.mailPerAddress, retryAfter: 600)) { try await ask() }
                    }
                }
            }
        }
    }
}
