import Accounts
import JOSE
import JSON
import OpenSSL
import Postgres
import Primitives
import SignIn
import Storage
import TestSupport
import Testing

@Suite(.fixture(SignInFixture.self)) struct RefreshTests {
    var fixture: SignInFixture { .current }

    @Test func `a refresh gives new tokens for the same session`() async throws {
        let first = try await fixture.signUp(.apple("a-1")).session
        fixture.clock.advance(by: 100)
        let second = try await fixture.refresh(first.refreshToken)
        #expect(second.id == first.id)
        #expect(second.refreshToken != first.refreshToken)
        #expect(second.refreshExpiresAt.seconds == SignInFixture.start + 100 + 5_184_000)
        #expect(try await fixture.opened(second).generation == 2)
    }

    @Test func `what this key ring did not make is no refresh token`() async throws {
        let real = try await fixture.signUp(.apple("a-1")).session
        let strange = RefreshTokens(keyRing: try SignInFixture.makeKeyRing(octet: 8))
        let otherID = RefreshTokens(keyRing: try SignInFixture.makeKeyRing(id: "k2"))
        var tokens = ["", "x", String(repeating: "A", count: 300), real.accessToken, real.refreshToken + "A"]
        tokens.append(try strange.token(for: real.id, generation: 1))
        tokens.append(try otherID.token(for: real.id, generation: 1))
        let bytes = try #require(Base64URL.decode(real.refreshToken))
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            tokens.append(Base64URL.encode(changed))
        }
        for token in tokens { try await expectFailure("invalidRefreshToken") { try await fixture.refresh(token) } }
        // None of them has ended the session.
        _ = try await fixture.refresh(real.refreshToken)
    }

    @Test func `a token that a failover lost the making of is accepted, one step ahead`() async throws {
        let first = try await fixture.signUp(.apple("a-1")).session
        let tokens = RefreshTokens(keyRing: fixture.keyRing)
        let ahead = try tokens.token(for: first.id, generation: 2)
        _ = try await fixture.refresh(ahead)
        let farAhead = try tokens.token(for: first.id, generation: 9)
        try await expectFailure("invalidRefreshToken") { try await fixture.refresh(farAhead) }
    }
}

@Suite(.fixture(SignInFixture.self)) struct AccessTokenTests {
    var fixture: SignInFixture { .current }

    @Test func `an access token verifies by the published keys and says what it should`() async throws {
        let signedIn = try await fixture.signUp(.apple("a-1"))
        let keys = try KeySet(parsing: fixture.service.accessTokens.publishedKeys)
        let token = try UnverifiedToken(signedIn.session.bearer, allowedTypes: ["at+jwt"]).verified(by: keys)
        let claims = token.claims
        #expect(token.header["typ"]?.string == "at+jwt")
        #expect(token.header["alg"]?.string == "ES256")
        #expect(claims["iss"]?.string == "https://auth.example.com")
        #expect(claims["aud"]?.string == "lamp-api")
        #expect(claims["sub"]?.string == signedIn.account.id.description)
        #expect(claims["sid"]?.string == signedIn.session.id.description)
        #expect(claims["iat"]?.integer == SignInFixture.start)
        #expect(claims["exp"]?.integer == SignInFixture.start + 900)
        #expect(claims["auth_time"]?.integer == SignInFixture.start)
        #expect(claims["amr"]?.elements?.map(\.string) == ["apple"])
        #expect(claims["jti"]?.string?.isEmpty == false)
    }

    @Test func `no other token passes for an access token`() async throws {
        let signedIn = try await fixture.signUp(.apple("a-1"))
        let mint = try TokenMint.shared
        let claims: TokenMint.Members = [
            "iss": "https://auth.example.com", "aud": "lamp-api", "sub": .string(signedIn.account.id.description),
            "sid": .string(signedIn.session.id.description), "iat": .integer(SignInFixture.start),
            "exp": .integer(SignInFixture.start + 900),
        ]
        var header = mint.header(.es256)
        header.append("typ", "at+jwt")
        let tokens: [[UInt8]] = [
            Array(try fixture.apple("a-1").utf8), Array(try fixture.google("1").utf8),
            Array(signedIn.session.refreshToken.utf8), try mint.token(claims, header: header, by: .es256),
            Array((signedIn.session.accessToken.dropLast(8) + "AAAAAAAA").utf8), [],
        ]
        for token in tokens {
            try await expectFailure("invalidSession") {
                try await fixture.service.sessions.session(of: token, by: fixture.call)
            }
        }
    }

    @Test func `an access token is no provider's token`() async throws {
        let access = try await fixture.signUp(.apple("a-1")).session.accessToken
        // Google signs nothing by ES256; Apple might, but never an `at+jwt`.
        try await expectFailure("algorithm_rejected") { try await fixture.signIn(.google, access) }
        try await expectFailure("header_rejected") { try await fixture.signIn(.apple, access) }
    }

    @Test func `an access token ends after its lifetime and with its session`() async throws {
        let session = try await fixture.signUp(.apple("a-1")).session
        fixture.clock.advance(by: 899)
        let live = try await fixture.opened(session)
        try await fixture.service.sessions.revoke(.current, of: live, by: fixture.call)
        try await expectFailure("invalidSession") { try await fixture.opened(session) }
        let other = try await fixture.session(.apple("a-1")).session
        fixture.clock.advance(by: 900)
        try await expectFailure("invalidSession") { try await fixture.opened(other) }
    }

    @Test func `of several processes that start at once one makes the first key`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let keyRing = try SignInFixture.makeKeyRing()
            let documents = try await concurrently(0..<8) { _ in
                try await AccessTokens(
                    configuration: .init(issuer: "i", audience: "a", lifetime: 900),
                    store: SigningKeyStore(database: database), keyRing: keyRing,
                    clock: ManualClock(at: SignInFixture.start), logger: .silent
                ).publishedKeys
            }
            #expect(Set(documents).count == 1)
            #expect(try KeySet(parsing: try #require(documents.first)).count == 1)
        }
    }

    @Test func `a key that another process signs by already is found`() async throws {
        let session = try await fixture.signUp(.apple("a-1")).session
        let live = try await fixture.opened(session)
        let foreign = try await fixture.tokenOfNewKey(for: live)
        #expect(try await fixture.service.sessions.session(of: Array(foreign.utf8), by: fixture.call).id == session.id)
    }

    @Test func `a good token of a new key is never refused for the unknown ones that come with it`() async throws {
        let session = try await fixture.signUp(.apple("a-1")).session
        let live = try await fixture.opened(session)
        let mint = try TokenMint.shared
        var header = mint.header(.es256)
        header.append("typ", "at+jwt")
        let madeUp = try mint.token(["sub": "x"], header: header, by: .es256)
        for _ in 0..<3 {
            let good = Array(try await fixture.tokenOfNewKey(for: live).utf8)
            try await concurrently(0..<40) { number in
                guard number % 4 == 3 else {
                    return try await expectFailure("invalidSession") {
                        try await fixture.service.sessions.session(of: madeUp, by: fixture.call)
                    }
                }
                #expect(try await fixture.service.sessions.session(of: good, by: fixture.call).id == session.id)
            }
        }
    }

    @Test func `tokens of unknown keys have the keys read ten times a second at most`() async throws {
        let session = try await fixture.signUp(.apple("a-1")).session
        let live = try await fixture.opened(session)
        let unknown = Array(try await fixture.tokenOfNewKey(for: live).utf8)
        _ = try await SigningKeys(
            store: fixture.storage.signingKeys, keyRing: fixture.keyRing, clock: fixture.clock
        ).replaceLeaked()
        let began = ContinuousClock.now
        for _ in 0..<5 {
            try await expectFailure("invalidSession") {
                try await fixture.service.sessions.session(of: unknown, by: fixture.call)
            }
        }
        #expect(ContinuousClock.now - began >= .milliseconds(400))
    }
}

extension SignInFixture {
    /// An access token of a second process, by the key that has just replaced a leaked one.
    fileprivate func tokenOfNewKey(for session: Session) async throws -> String {
        _ = try await SigningKeys(store: storage.signingKeys, keyRing: keyRing, clock: clock).replaceLeaked()
        return try await tokens().token(for: session, at: clock.now())
    }
}
