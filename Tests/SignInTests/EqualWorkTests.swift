import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// A refusal takes as long for one address as for another, whether or not an account has it, because it is the same
/// work: as many hashes of a password, and the same statements, each as often. So does a wrong code, and a request for
/// one, whether or not a code is live. Times are compared by `Scripts/bench oracle`.
@Suite struct EqualWorkTests {
    /// What an address is to the accounts.
    private enum Relation: String, CaseIterable { case proven, claimed, passwordless, disabled, unknown }

    /// A call that is refused, or answered alike, for any address. In the order of the cases, for a code that was not
    /// mailed is tried first, and those that use it up last.
    private enum Call: CaseIterable {
        case signInByPassword, bindByPassword, signInByNoCode, resetByNoCode, bindByNoCode, requestCode
        case requestCodeAgain, requestCodeLater, signInByWrongCode, useUpOwnTries, signInWithoutTries, useUpAllTries
        case signInWithoutOthersTries, register, requestRegistrationCode, registerByWrongCode

        /// What there is one answer to, whatever has become of the code of the address.
        static let refusedTries: [Call] = [
            .signInByNoCode, .signInByWrongCode, .signInWithoutTries, .signInWithoutOthersTries,
        ]
        static let requests: [Call] = [.requestCode, .requestCodeAgain, .requestCodeLater]
    }

    private struct Work: Hashable {
        let hashes: Int
        /// How often each statement was executed.
        let statements: [String: Int64]
    }

    private static let wrong = "a wrong password"
    /// Statements are counted once they are prepared, which is the second time that they come.
    private static let rounds = 4

    /// Makes the accounts of a round, and returns the address of each relation.
    private static func addresses(_ round: Int, _ fixture: SignInFixture) async throws -> [String] {
        var addresses: [String] = []
        for relation in Relation.allCases {
            let email = "\(relation)-\(round)@example.com"
            addresses.append(email)
            switch relation {
            case .proven:
                try await fixture.register(email)
                try await fixture.database.execute(
                    """
                    UPDATE accounts
                    SET email_verified = true, email_proof = 'proven', email_proof_source = 'mailed_code'
                    WHERE email = \(email)
                    """)
            case .claimed: try await fixture.register(email)
            case .passwordless:
                _ = try await fixture.signUp(.google("\(relation)-\(round)", SignInFixture.email(email)))
            case .disabled: try await fixture.disable(try await fixture.register(email))
            case .unknown: break
            }
        }
        return addresses
    }

    private static func client(_ network: Network = "192.0.2.0/24") -> Caller {
        Caller(requestID: "test", address: "192.0.2.1", network: network, wideNetwork: "192.0.0.0/16", device: nil)
    }

    /// Tries a wrong code.
    private static func guess(
        _ email: String, times: Int = 1, from network: Network = "192.0.2.0/24", _ service: SignInService
    ) async throws {
        for _ in 0..<times {
            try await expectFailure("invalidCredentials") {
                let begun = service.calls.begin(by: client(network))
                _ = try await service.emailCodes.signIn(email: email, code: "x23456", by: begun)
            }
        }
    }

    /// A way in of a browser of its own.
    private static func flow(_ fixture: SignInFixture) async throws -> FlowReference {
        let (web, browser) = (try #require(fixture.service.web), try BrowserSecret.fresh())
        let flow = try await web.openAccountFlow(browser: browser, by: fixture.service.calls.begin(by: client()))
        return FlowReference(id: flow.id, browser: browser)
    }

    /// Makes the call, and expects the answer that it has for each address.
    ///
    /// - Parameter flow: in which this address registers, and no other.
    private static func make(
        _ call: Call, _ email: String, _ ticket: LinkRequired, _ flow: FlowReference, _ service: SignInService
    ) async throws {
        let (begun, code, web) = (service.calls.begin(by: client()), "x23456", try #require(service.web))
        switch call {
        case .signInByNoCode, .signInByWrongCode, .signInWithoutTries: return try await guess(email, service)
        // With the one before, all that a network has, and all that there are.
        case .useUpOwnTries: return try await guess(email, times: 4, service)
        case .useUpAllTries:
            for number in 1...3 { try await guess(email, times: 5, from: "192.0.\(10 + number).0/24", service) }
            return
        case .signInWithoutOthersTries: return try await guess(email, from: "192.0.20.0/24", service)
        case .requestCode, .requestCodeAgain, .requestCodeLater:
            return try await service.emailCodes.mailCode(to: email, for: .signIn, by: begun)
        case .register:
            let password = SignInFixture.password
            return try await web.register(email: email, password: password, displayName: nil, in: flow, by: begun)
        case .requestRegistrationCode: return try await web.mailRegistrationCode(in: flow, by: begun)
        default: break
        }
        try await expectFailure("invalidCredentials") {
            switch call {
            case .signInByPassword: _ = try await service.passwords.signIn(email: email, password: wrong, by: begun)
            case .resetByNoCode:
                try await service.emailCodes.resetPassword(
                    email: email, code: code, newPassword: "another long password", by: begun)
            case .bindByPassword, .bindByNoCode:
                let credential: BindCredential =
                    call == .bindByNoCode
                    ? .emailCode(email: email, code: code) : .password(email: email, password: wrong)
                _ = try await service.tickets.bind(linkTicket: ticket.linkTicket, credential: credential, by: begun)
            case .registerByWrongCode: _ = try await web.confirmRegistration(code: code, in: flow, by: begun)
            default: break
            }
        }
    }

    /// The executions of each prepared statement of the one connection. `BEGIN` and `COMMIT` have no plan to count.
    private static func executions(_ fixture: SignInFixture) async throws -> [String: Int64] {
        let rows = try await fixture.database.query(
            """
            SELECT statement, sum(generic_plans + custom_plans)::int8
            FROM pg_prepared_statements
            WHERE statement NOT LIKE '%pg_prepared_statements%'
            GROUP BY statement
            """, as: String.self, Int64.self)
        return Dictionary(uniqueKeysWithValues: rows)
    }

    private static func work(_ fixture: SignInFixture, _ body: () async throws -> Void) async throws -> Work {
        let (hashes, before) = (fixture.passwordHasher.finished, try await executions(fixture))
        try await body()
        let statements = try await executions(fixture).map { ($0, $1 - before[$0, default: 0]) }.filter { $0.1 > 0 }
        return Work(
            hashes: fixture.passwordHasher.finished - hashes, statements: Dictionary(uniqueKeysWithValues: statements))
    }

    @Test func `what is refused for one address is as much work as for any other`() async throws {
        let limits = LimitKind.allCases.map { ($0, RateLimit.limit(count: 1000, seconds: 900)) }
        try await SignInFixture.run(poolSize: 1) { configuration in
            configuration.mailLanguages = ["en"]
            configuration.limits = Dictionary(uniqueKeysWithValues: limits)
            configuration.web = WebSignIn.Configuration(
                issuer: "https://auth.example.com", publicURL: "https://auth.example.com", apps: [], apple: nil,
                google: nil, offersEmailCode: true)
        } _: { fixture in
            let ticket = try await fixture.ticket(.apple("asker"))
            var seen: [Call: [Work]] = [:]
            for round in 1...Self.rounds {
                var attempts: [(email: String, flow: FlowReference)] = []
                for email in try await Self.addresses(round, fixture) {
                    attempts.append((email, try await Self.flow(fixture)))
                }
                seen = [:]
                for call in Call.allCases {
                    if call == .requestCodeLater { fixture.clock.advance(by: EmailCodeRules.mailInterval) }
                    for (email, flow) in attempts {
                        let work = try await Self.work(fixture) {
                            try await Self.make(call, email, ticket, flow, fixture.service)
                        }
                        seen[call, default: []].append(work)
                    }
                }
            }
            for (call, works) in seen {
                #expect(works.count == Relation.allCases.count)
                #expect(Set(works).count == 1, "\(call): \(works)")
                #expect(works[0].statements.values.reduce(0, +) >= 1, "\(call)")
                let hashes = [.signInByPassword, .bindByPassword, .register].contains(call) ? 1 : 0
                #expect(works[0].hashes == hashes, "\(call)")
            }
            for calls in [Call.refusedTries, Call.requests] {
                let works = calls.map { seen[$0]?.first }
                #expect(Set(works).count == 1, "\(calls): \(works)")
            }
        }
    }

    @Test func `a request beyond the allowance is as much work with a live code as without one`() async throws {
        let drainer: Network = "192.0.2.0/24"
        try await SignInFixture.run(poolSize: 1) { configuration in
            configuration.mailLanguages = ["en"]
            configuration.limits = [.mailPerAddress: .limit(count: 2, seconds: 3600)]
        } _: { fixture in
            func ask(_ purpose: EmailCodePurpose, _ email: String, from network: Network?) async throws {
                let begun = fixture.service.calls.begin(by: HomeFixture.client(network))
                try await fixture.service.emailCodes.mailCode(to: email, for: purpose, by: begun)
            }
            // Which has used up what it has; for which others have; and which has some of its own.
            let askers: [Network?] = [drainer, nil, "198.51.100.0/24"]
            var seen: [Set<Work>] = []
            for round in 1...Self.rounds {
                seen = []
                for (number, asker) in askers.enumerated() {
                    var works: Set<Work> = []
                    for live in [EmailCodePurpose.signIn, .resetPassword] {
                        let email = "\(live.rawValue)-\(number)-\(round)@example.com"
                        for purpose in [live, .verifyEmail] { try await ask(purpose, email, from: drainer) }
                        works.insert(try await Self.work(fixture) { try await ask(.signIn, email, from: asker) })
                    }
                    seen.append(works)
                }
            }
            #expect(seen.map(\.count) == [1, 1, 1], "\(seen)")
            #expect(seen[0] == seen[2])
        }
    }
}
