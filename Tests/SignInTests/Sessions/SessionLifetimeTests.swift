import Accounts
import JOSE
import JSON
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// `tokens.sessionLifetime`: the end of a session that no refresh moves.
@Suite struct SessionLifetimeTests {
    private static let day: Int64 = 86_400

    private static func run(absolute: Int64, _ body: (SignInFixture) async throws -> Void) async throws {
        try await SignInFixture.run {
            $0.sessionLifetime = absolute
        } _: { fixture in
            try await body(fixture)
        }
    }

    private func opened(_ fixture: SignInFixture) async throws -> IssuedSession {
        try await fixture.signUp(.apple("a-1")).session
    }

    private func refresh(
        _ fixture: SignInFixture, _ session: IssuedSession, by service: SignInService? = nil
    ) async throws -> IssuedSession {
        try await (service ?? fixture.service).sessions.refresh(session.refreshToken, by: fixture.call)
    }

    /// When an access token ends.
    private func end(_ session: IssuedSession, _ fixture: SignInFixture) throws -> Int64? {
        let keys = try KeySet(parsing: fixture.accessTokens.publishedKeys)
        return try UnverifiedToken(session.bearer, allowedTypes: ["at+jwt"]).verified(by: keys).claims["exp"]?.integer
    }

    @Test func `a refresh prolongs a session up to its absolute end, and no further`() async throws {
        try await Self.run(absolute: 90 * Self.day) { fixture in
            let start = SignInFixture.start
            var session = try await opened(fixture)
            #expect(session.refreshExpiresAt.seconds == start + 60 * Self.day)
            for (day, end) in [(Int64(20), Int64(80)), (40, 90), (89, 90)] {
                fixture.clock.set(to: start + day * Self.day)
                session = try await refresh(fixture, session)
                #expect(session.refreshExpiresAt.seconds == start + end * Self.day)
                #expect(session.expiresIn == 900)
            }
            fixture.clock.set(to: start + 90 * Self.day - 1)
            session = try await refresh(fixture, session)
            _ = try await fixture.opened(session)
            fixture.clock.advance(by: 1)
            try await fixture.expectEnded(session)
            // The person signs in again.
            #expect(
                try await fixture.session(.apple("a-1")).session.refreshExpiresAt.seconds
                    == start + 150 * Self.day)
        }
    }

    @Test func `an absolute end before the other one holds from the start`() async throws {
        try await Self.run(absolute: Self.day) { fixture in
            let session = try await opened(fixture)
            #expect(session.refreshExpiresAt.seconds == SignInFixture.start + Self.day)
            // A password's session too.
            let registered = try await fixture.register("kim@example.com").session
            #expect(registered.refreshExpiresAt == session.refreshExpiresAt)
        }
    }

    @Test func `no access token outlives its session`() async throws {
        try await Self.run(absolute: 3_600) { fixture in
            let start = SignInFixture.start
            var session = try await opened(fixture)
            #expect(session.expiresIn == 900)
            for (seconds, lifetime) in [(Int64(2_700), Int64(900)), (2_701, 899), (3_599, 1)] {
                fixture.clock.set(to: start + seconds)
                // The second time the answer is one that was lost.
                let next = [try await refresh(fixture, session), try await refresh(fixture, session)]
                for session in next {
                    #expect(session.expiresIn == lifetime)
                    #expect(session.refreshExpiresAt.seconds == start + 3_600)
                    #expect(try end(session, fixture) == start + seconds + lifetime)
                }
                session = next[1]
            }
        }
    }

    @Test func `it holds for the sessions that are open when it is set`() async throws {
        try await SignInFixture.run { fixture in
            let start = SignInFixture.start
            let old = try await opened(fixture)
            fixture.clock.set(to: start + 10 * Self.day)
            let session = try await refresh(fixture, old)
            #expect(session.refreshExpiresAt.seconds == start + 70 * Self.day)
            let limited = try fixture.service { $0.sessionLifetime = 30 * Self.day }
            // Within the minute: the row still has the later end.
            let repeated = try await refresh(fixture, old, by: limited)
            #expect(repeated.refreshToken == session.refreshToken)
            #expect(repeated.refreshExpiresAt.seconds == start + 30 * Self.day)
            fixture.clock.set(to: start + 30 * Self.day)
            try await expectFailure("invalidRefreshToken") { try await refresh(fixture, session, by: limited) }
            // A process that has no such limit yet goes by the row.
            _ = try await refresh(fixture, session)
        }
    }

    @Test func `a session that met its absolute end is swept a week later`() async throws {
        try await Self.run(absolute: Self.day) { fixture in
            _ = try await opened(fixture)
            let sweeper = fixture.storage.sweeper(
                clock: fixture.clock, lifetimes: SessionLifetimes(unused: 60 * Self.day, absolute: Self.day))
            fixture.clock.advance(by: 8 * Self.day)
            _ = try await sweeper.sweep()
            #expect(try await fixture.count("sessions") == 1)
            fixture.clock.advance(by: 1)
            _ = try await sweeper.sweep()
            #expect(try await fixture.count("sessions") == 0)
        }
    }
}
