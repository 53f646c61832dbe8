import Accounts
import JOSE
import JSON
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The time and the methods of an authentication, as every token of the session states them.
@Suite struct AuthenticationTimeTests {
    private static let start = SignInFixture.start
    private static let email = "kim@example.com"

    enum Proof: CaseIterable, Sendable {
        case issuedAt, authTime, authTimeAhead, created
        case registered, password, mailedCode
        case boundByFreshSession, boundByPassword, boundByCode
        case automaticallyBound
    }

    @Test(arguments: Proof.allCases)
    func `a session says when its person proved to be there, and how, and no refresh changes it`(
        proof: Proof
    ) async throws {
        try await SignInFixture.withMail(policy: proof == .automaticallyBound ? .automatic : .prompt) { fixture in
            let (signedIn, authTime, methods) = try await Self.signIn(proof, fixture)
            var issued = signedIn.session
            for _ in 0..<3 {
                let session = try await fixture.opened(issued)
                #expect(session.authenticatedAt.seconds == authTime)
                #expect(session.methods == methods)
                let keys = try KeySet(parsing: fixture.service.accessTokens.publishedKeys)
                let claims = try UnverifiedToken(issued.bearer, allowedTypes: ["at+jwt"]).verified(by: keys).claims
                #expect(claims["auth_time"]?.integer == authTime)
                #expect(claims["amr"]?.elements?.map(\.string) == methods.map(\.rawValue))
                fixture.clock.advance(by: 1_000)
                issued = try await fixture.refresh(issued.refreshToken)
            }
            // So a refresh makes no session fresh.
            let aged = try await fixture.opened(issued)
            #expect(!aged.isFresh(at: fixture.clock.now()))
            try await expectFailure("reauthenticationRequired") {
                try await fixture.service.accounts.delete(accountOf: aged, by: fixture.call)
            }
        }
    }

    /// The session, and the time and the methods that it has to name. Two minutes go by between each step and the next.
    private static func signIn(
        _ proof: Proof, _ fixture: SignInFixture
    ) async throws -> (SignedIn, authTime: Int64, [AuthenticationMethod]) {
        func pass() { fixture.clock.advance(by: 120) }
        func register() async throws -> SignedIn { try await fixture.register(email) }
        switch proof {
        case .issuedAt, .authTime, .authTimeAhead:
            _ = try await fixture.signUp(.google("g-1"))
            let time: Int64? =
                switch proof {
                case .issuedAt: nil
                case .authTime: start - 500
                default: start + 500
                }
            let token = try fixture.google("g-1", [("auth_time", time.map { .integer($0) })])
            pass()
            // A time in the future counts as now.
            let authTime = min(time ?? start, start + 120)
            return (try await fixture.session(.google, token), authTime, [.google])
        case .created:
            let ticket = try await fixture.ticket(.apple("a-1"))
            pass()
            return (try await fixture.create(ticket), start, [.apple])
        case .registered: return (try await register(), start, [.password])
        case .password:
            _ = try await register()
            pass()
            return (try await fixture.signIn(email), start + 120, [.password])
        case .mailedCode:
            _ = try await register()
            let code = try await fixture.code(.signIn, for: email)
            pass()
            return (try await fixture.signIn(email, code: code), start + 120, [.oneTimeCode])
        case .boundByFreshSession:
            let ticket = try await fixture.ticket(.apple("a-1"))
            pass()
            let session = try await register()
            pass()
            return (try await fixture.bind(ticket, session.session.credential), start + 120, [.password, .apple])
        case .boundByPassword:
            _ = try await register()
            let ticket = try await fixture.ticket(.apple("a-1"))
            pass()
            let bound = try await fixture.bind(ticket, .password(email: email, password: SignInFixture.password))
            return (bound, start + 120, [.password, .apple])
        case .boundByCode:
            _ = try await register()
            let ticket = try await fixture.ticket(.apple("a-1"))
            let code = try await fixture.code(.bind, for: email, ticket: ticket)
            pass()
            let bound = try await fixture.bind(ticket, .emailCode(email: email, code: code))
            return (bound, start + 120, [.oneTimeCode, .apple])
        case .automaticallyBound:
            _ = try await fixture.member("kim@gmail.com")
            let token = try fixture.google("g-1", SignInFixture.email("kim@gmail.com"))
            pass()
            return (try await fixture.session(.google, token), start, [.google])
        }
    }
}
