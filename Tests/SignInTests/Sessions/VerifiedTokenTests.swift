import Accounts
import Postgres
import TestSupport
import Testing

@testable import SignIn

/// Access tokens that come again after they were verified.
@Suite(.fixture(SignInFixture.self)) struct VerifiedTokenTests {
    var fixture: SignInFixture { .current }

    /// A session whose access token has been verified.
    private func looked(_ subject: String = "kim") async throws -> IssuedSession {
        let session = try await fixture.signUp(.apple(subject)).session
        _ = try await fixture.opened(session)
        return session
    }

    @Test func `a token is kept once, and leads to its own session`() async throws {
        let kim = try await looked("kim")
        let lou = try await looked("lou")
        for _ in 0..<3 {
            #expect(try await fixture.opened(kim).id == kim.id)
            #expect(try await fixture.opened(lou).id == lou.id)
        }
        #expect(fixture.accessTokens.verified.count == 2)
    }

    @Test func `a token that came before is over at its second`() async throws {
        let session = try await looked()
        fixture.clock.advance(by: 899)
        #expect(try await fixture.opened(session).id == session.id)
        fixture.clock.advance(by: 1)
        try await expectFailure("invalidSession") { try await fixture.opened(session) }
    }

    @Test func `a token that came before is not good while the clock is behind its issue`() async throws {
        let session = try await looked()
        fixture.clock.advance(by: -61)
        try await expectFailure("invalidSession") { try await fixture.opened(session) }
        fixture.clock.advance(by: 1)
        #expect(try await fixture.opened(session).id == session.id)
    }

    @Test func `a token that came before ends with its session`() async throws {
        let session = try await looked()
        try await fixture.service.sessions.revoke(.all, of: try await fixture.opened(session), by: fixture.call)
        try await fixture.expectEnded(session)
    }

    @Test func `a token that came before is good for as long as its key is stored`() async throws {
        let session = try await looked()
        try await fixture.database.execute("DELETE FROM signing_keys")
        #expect(try await fixture.opened(session).id == session.id)
        try await fixture.accessTokens.rereadKeys()
        try await expectFailure("invalidSession") { try await fixture.opened(session) }
    }

    @Test func `no byte of a token that came before may differ`() async throws {
        let session = try await looked()
        for index in [0, session.bearer.count / 2, session.bearer.count - 2] {
            var other = session.bearer
            other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            try await expectFailure("invalidSession") { [other] in
                try await fixture.service.sessions.session(of: other, by: fixture.call)
            }
        }
        #expect(fixture.accessTokens.verified.count == 1)
    }

    @Test func `a refused token is not kept`() async throws {
        let session = try await fixture.signUp(.apple("kim")).session
        fixture.clock.advance(by: 960)
        try await expectFailure("invalidSession") { try await fixture.opened(session) }
        #expect(fixture.accessTokens.verified.count == 0)
    }

    @Test func `those that came last are kept, of any number`() throws {
        let tokens = VerifiedTokens(limit: 10)
        func hash(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 32) }
        func token() throws -> VerifiedTokens.Token {
            .init(sessionID: try SessionID.fresh(at: fixture.clock.now()), keyID: [], issuedAt: 0, expiresAt: 0)
        }
        let regular = try token()
        tokens.insert(regular, hash(0))
        for number in 1..<100 {
            tokens.insert(try token(), hash(number))
            #expect(tokens.token(hash(0))?.sessionID == regular.sessionID)
            #expect(tokens.count <= 20)
        }
        #expect(tokens.token(hash(99)) != nil)
        #expect(tokens.token(hash(90)) != nil)
        #expect(tokens.token(hash(50)) == nil)
    }
}
