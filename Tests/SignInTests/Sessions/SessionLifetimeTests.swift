import Accounts
import JOSE
import JSON
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

private let day: Int64 = 86_400

/// `tokens.sessionLifetime`: the end of a session that no refresh moves.
@Suite(.fixture(SignInFixture.self)) struct SessionLifetimeTests {
    var fixture: SignInFixture { .current }

    private func opened() async throws -> IssuedSession { try await fixture.signUp(.apple("a-1")).session }

    private func refresh(_ session: IssuedSession, by service: SignInService? = nil) async throws -> IssuedSession {
        try await (service ?? fixture.service).sessions.refresh(session.refreshToken, by: fixture.call)
    }

    /// When an access token ends.
    private func end(_ session: IssuedSession) throws -> Int64? {
        let keys = try KeySet(parsing: fixture.accessTokens.publishedKeys)
        return try UnverifiedToken(session.bearer, allowedTypes: ["at+jwt"]).verified(by: keys).claims["exp"]?.integer
    }

    @Test(.ending(after: 90 * day))
    func `a refresh prolongs a session up to its absolute end, and no further`() async throws {
        let start = SignInFixture.start
        var session = try await opened()
        #expect(session.refreshExpiresAt.seconds == start + 60 * day)
        for (days, end) in [(Int64(20), Int64(80)), (40, 90), (89, 90)] {
            fixture.clock.set(to: start + days * day)
            session = try await refresh(session)
            #expect(session.refreshExpiresAt.seconds == start + end * day)
            #expect(session.expiresIn == 900)
        }
        fixture.clock.set(to: start + 90 * day - 1)
        session = try await refresh(session)
        _ = try await fixture.opened(session)
        fixture.clock.advance(by: 1)
        try await fixture.expectEnded(session)
        // The person signs in again.
        #expect(try await fixture.session(.apple("a-1")).session.refreshExpiresAt.seconds == start + 150 * day)
    }

    @Test(.ending(after: day)) func `an absolute end before the other one holds from the start`() async throws {
        let session = try await opened()
        #expect(session.refreshExpiresAt.seconds == SignInFixture.start + day)
        // A password's session too.
        #expect(try await fixture.register("kim@example.com").session.refreshExpiresAt == session.refreshExpiresAt)
    }

    @Test(.ending(after: 3_600)) func `no access token outlives its session`() async throws {
        let start = SignInFixture.start
        var session = try await opened()
        #expect(session.expiresIn == 900)
        for (seconds, lifetime) in [(Int64(2_700), Int64(900)), (2_701, 899), (3_599, 1)] {
            fixture.clock.set(to: start + seconds)
            // The second time the answer is one that was lost.
            let next = [try await refresh(session), try await refresh(session)]
            for session in next {
                #expect(session.expiresIn == lifetime)
                #expect(session.refreshExpiresAt.seconds == start + 3_600)
                #expect(try end(session) == start + seconds + lifetime)
            }
            session = next[1]
        }
    }

    @Test func `it holds for the sessions that are open when it is set`() async throws {
        let start = SignInFixture.start
        let old = try await opened()
        fixture.clock.set(to: start + 10 * day)
        let session = try await refresh(old)
        #expect(session.refreshExpiresAt.seconds == start + 70 * day)
        let limited = try fixture.service { $0.sessionLifetime = 30 * day }
        // Within the minute: the row still has the later end.
        let repeated = try await refresh(old, by: limited)
        #expect(repeated.refreshToken == session.refreshToken)
        #expect(repeated.refreshExpiresAt.seconds == start + 30 * day)
        fixture.clock.set(to: start + 30 * day)
        try await expectFailure("invalidRefreshToken") { try await refresh(session, by: limited) }
        // A process that has no such limit yet goes by the row.
        _ = try await refresh(session)
    }

    @Test(.ending(after: day)) func `a session that met its absolute end is swept a week later`() async throws {
        _ = try await opened()
        let sweeper = fixture.storage.sweeper(
            clock: fixture.clock, lifetimes: SessionLifetimes(unused: 60 * day, absolute: day))
        fixture.clock.advance(by: 8 * day)
        _ = try await sweeper.sweep()
        #expect(try await fixture.count("sessions") == 1)
        fixture.clock.advance(by: 1)
        _ = try await sweeper.sweep()
        #expect(try await fixture.count("sessions") == 0)
    }
}

extension Trait where Self == FixtureTrait<SignInFixture> {
    fileprivate static func ending(after seconds: Int64) -> Self {
        .fixture { body in try await SignInFixture.run(configure: { $0.sessionLifetime = seconds }, body) }
    }
}
