import Accounts
import KeyRing
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// What is asked for while the signing key can't be opened: it is refused before anything is written or used up, so that
/// the same request succeeds later.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct SigningOutageTests {
    var fixture: SignInFixture { .current }

    private static let email = "kim@example.com"

    @Test func `the service says that it can't sign, and afterwards that it can`() async throws {
        func canSign() -> Bool { fixture.service.accessTokens.canSign(at: fixture.clock.now()) }
        let before = canSign()
        let meanwhile = try await fixture.withoutSigner { canSign() }
        #expect([before, meanwhile, canSign()] == [true, false, true])
    }

    @Test func `a refresh token that comes again and again is no reuse`() async throws {
        let kim = try await fixture.signUp(.google("kim"))
        try await fixture.withoutSigner {
            for _ in 0..<3 {
                // With the generation of the session.
                try await fixture.expectRefusal("signingUnavailable") {
                    try await fixture.refresh(kim.session.refreshToken)
                }
                fixture.clock.advance(by: 61)
            }
        }
        let next = try await fixture.refresh(kim.session.refreshToken)
        #expect(try await fixture.opened(next).id == kim.session.id)
    }

    @Test func `a ticket makes no account, and makes one afterwards`() async throws {
        let ticket = try await fixture.ticket(.google("kim"))
        try await fixture.withoutSigner {
            try await fixture.expectRefusal("signingUnavailable") { try await fixture.create(ticket) }
        }
        #expect(try await fixture.create(ticket).identity?.key.subject.text == "kim")
    }

    enum Proof: CaseIterable, Sendable { case session, password, mailedCode }

    @Test(arguments: Proof.allCases)
    func `a ticket binds nothing, and binds by the same proof afterwards`(proof: Proof) async throws {
        let member = try await fixture.member(Self.email)
        let ticket = try await fixture.ticket(.google("kim"))
        let credential: BindCredential
        switch proof {
        case .session: credential = member.session.credential
        case .password: credential = .password(email: Self.email, password: SignInFixture.password)
        case .mailedCode: credential = try await fixture.mailedProof(of: Self.email, for: ticket)
        }
        try await fixture.withoutSigner {
            // More often than a code may be tried.
            for _ in 0..<6 {
                try await fixture.expectRefusal("signingUnavailable") { try await fixture.bind(ticket, credential) }
            }
        }
        #expect(try await fixture.bind(ticket, credential).account.id == member.account.id)
    }

    @Test func `a mailbox's reader neither makes nor takes over an account, and does afterwards`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ownersAnswer().ticket
        try await fixture.withoutSigner {
            try await fixture.expectRefusal("signingUnavailable") { try await fixture.bind(ticket, .ticket) }
            try await fixture.expectRefusal("signingUnavailable") { try await fixture.create(ticket) }
        }
        #expect(try await fixture.bind(ticket, .ticket).account.id == former.account.id)
    }

    @Test func `a provider's token opens no session, and does afterwards with the same nonce`() async throws {
        let kim = try await fixture.signUp(.google("kim"))
        let nonce = try fixture.service.nonces.issue(for: .google).text
        let token = try fixture.google("kim", [("nonce", .string(nonce))])
        try await fixture.withoutSigner {
            try await fixture.expectRefusal("signingUnavailable") {
                try await fixture.signIn(.google, token, nonce: nonce)
            }
            #expect(try await fixture.count("nonces") == 0)
        }
        #expect(try await fixture.signIn(.google, token, nonce: nonce).session.account.id == kim.account.id)
    }

    @Test func `nobody registers or signs in by a password, and both do afterwards`() async throws {
        try await fixture.withoutSigner {
            try await fixture.expectRefusal("signingUnavailable") { try await fixture.register(Self.email) }
        }
        let kim = try await fixture.register(Self.email)
        try await fixture.withoutSigner {
            let hashed = fixture.passwordHasher.finished
            try await fixture.expectRefusal("signingUnavailable") { try await fixture.signIn(Self.email) }
            #expect(fixture.passwordHasher.finished == hashed)
        }
        #expect(try await fixture.signIn(Self.email).account.id == kim.account.id)
    }

    @Test func `a mailed code opens no session, and no try of it is used up`() async throws {
        let kim = try await fixture.member(Self.email)
        let code = try await fixture.code(.signIn, for: Self.email)
        try await fixture.withoutSigner {
            for typed in [code] + Array(repeating: SignInFixture.wrong(code), count: 6) {
                try await fixture.expectRefusal("signingUnavailable") {
                    try await fixture.signIn(Self.email, code: typed)
                }
            }
        }
        #expect(try await fixture.signIn(Self.email, code: code).account.id == kim.account.id)
    }
}

/// The same in a browser.
@Suite(.fixture(WebFixture.self)) struct WebSigningOutageTests {
    var fixture: WebFixture { .current }

    private static let email = "lee@example.com"

    @Test func `an app gets its code, exchanges it in vain, and does so afterwards`() async throws {
        let account = try await fixture.base.account(.apple)
        let sessions = try await fixture.count("sessions")
        let code = try await fixture.withoutSigner {
            let code = try await fixture.code()
            try await expectFailure("signingUnavailable") { try await fixture.exchange(code) }
            return code
        }
        #expect(try await fixture.count("sessions") == sessions)
        #expect(try await fixture.exchange(code).session.account.id == account.account.id)
    }

    @Test func `a web code that comes twice ends what it has opened, also while no token can be signed`() async throws {
        _ = try await fixture.base.account(.apple)
        let sessions = try await fixture.count("sessions WHERE ended_at IS NULL")
        let code = try await fixture.code()
        _ = try await fixture.exchange(code)
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == sessions + 1)
        try await fixture.withoutSigner {
            _ = await #expect(throws: SignInFailure.self) { try await fixture.exchange(code) }
        }
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == sessions)
    }

    @Test func `a password leaves a flow that ends here open`() async throws {
        let account = try await fixture.register(Self.email)
        let flow = try await fixture.openAccountFlow()
        try await fixture.withoutSigner {
            try await expectFailure("signingUnavailable") { try await fixture.enter(Self.email, in: flow) }
        }
        #expect(try await fixture.status(flow) == "new")
        #expect(try await fixture.count("sessions") == 1)
        let session = try #require(try await fixture.session(try await fixture.enter(Self.email, in: flow).cookie))
        #expect(session.accountID == account.account.id)
    }

    @Test func `a provider's code is not sent where the flow ends here`() async throws {
        let answer = try await fixture.googleAnswer(try await fixture.openAccountFlow())
        try await fixture.withoutSigner {
            guard case .failed(_, .signingUnavailable) = try await fixture.finish(answer) else {
                Issue.record("the flow went on")
                return
            }
        }
        #expect(try await fixture.exchanges(at: .google).isEmpty)
        #expect(try await fixture.count("link_tickets") == 0)
    }
}

extension ServiceFixture {
    /// Runs `body` while the current signing key is under a line of the key ring that the service lacks. Afterwards it is
    /// under one that the service has.
    fileprivate func withoutSigner<Value>(_ body: () async throws -> Value) async throws -> Value {
        let ahead = try SignInFixture.makeKeyRing(lines: [("k2", 8), ("k1", 7)])
        clock.advance(by: 1)
        let rotation = try await SigningKeys(store: storage.signingKeys, keyRing: ahead, clock: clock).rotate(lead: 0)
        guard case .rotated = rotation else { throw SignInFixture.Unexpected.succeeded }
        try await service.accessTokens.rereadKeys()
        let value = try await body()
        let behind = try SignInFixture.makeKeyRing(lines: [("k1", 7), ("k2", 8)])
        _ = try await KeyRingRewrap(database: database, keyRing: behind).run()
        try await service.accessTokens.rereadKeys()
        return value
    }
}
