import Accounts
import JOSE
import KeyRing
import OpenSSL
import Postgres
import Primitives
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// Nonces that this service issues: where each is good, and that it is good once.
@Suite(.fixture(SignInFixture.self)) struct NonceTests {
    var fixture: SignInFixture { .current }

    // MARK: Issuing

    @Test func `a nonce says what it is, lives ten minutes, and is written nowhere`() async throws {
        var texts: Set<String> = []
        for provider in Provider.allCases {
            for _ in 0..<20 {
                let nonce = try fixture.service.nonces.issue(for: provider)
                #expect(nonce.text.hasPrefix("csn_"))
                #expect(
                    nonce.text.dropFirst(4).allSatisfy {
                        $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0))
                    })
                #expect(nonce.text.utf8.count <= 128)
                #expect(nonce.expiresAt == Timestamp(seconds: SignInFixture.start + 600))
                texts.insert(nonce.text)
            }
        }
        #expect(texts.count == 40)
        #expect(try await fixture.count("nonces") == 0)
    }

    @Test func `there is none for a provider that is not enabled`() async throws {
        let service = try fixture.service(apple: false)
        _ = try service.nonces.issue(for: .google)
        try await expectFailure("providerDisabled") { try service.nonces.issue(for: .apple) }
    }

    // MARK: Where it is good

    @Test(arguments: NoncePolicy.allCases, NonceForm.allCases)
    func `a nonce signs in once, in the form that the provider is configured for alone`(
        policy: NoncePolicy, form: NonceForm
    ) async throws {
        let service = try fixture.service(nonceForms: (form, form)) { $0.noncePolicy = policy }
        for provider in Provider.allCases {
            let nonce = try service.nonces.issue(for: provider).text
            for other in NonceForm.allCases where other != form {
                let token = try fixture.token(provider, carrying: nonce, in: other)
                try await expectFailure("nonce_mismatch") {
                    try await fixture.signIn(provider, token, nonce, at: service)
                }
            }
            let token = try fixture.token(provider, carrying: nonce, in: form)
            _ = try await fixture.signIn(provider, token, nonce, at: service)
            try await expectFailure("nonce_spent") { try await fixture.signIn(provider, token, nonce, at: service) }
        }
        #expect(try await fixture.count("nonces") == 2)
    }

    @Test(arguments: NoncePolicy.allCases)
    func `what is not exactly a nonce of ours for this provider is as good as spent`(policy: NoncePolicy) async throws {
        let service = try fixture.service { $0.noncePolicy = policy }
        let real = try service.nonces.issue(for: .apple).text
        let bytes = try #require(Base64URL.decode(String(real.dropFirst(4))))
        var wrong = [
            "csn_", "csn_k3Vq9Zt1wR7mX2bN8cLp", real + "A", String(real.dropLast()), real + "=",
            "csn_" + String(repeating: "A", count: 300),
            try service.nonces.issue(for: .google).text,
            try fixture.service(keyRing: SignInFixture.makeKeyRing(octet: 8)).nonces.issue(for: .apple).text,
            try fixture.service(keyRing: SignInFixture.makeKeyRing(id: "k2")).nonces.issue(for: .apple).text,
        ]
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                wrong.append("csn_" + Base64URL.encode(changed))
            }
            wrong.append("csn_" + Base64URL.encode(Array(bytes[..<index])))
        }
        for nonce in wrong {
            let token = try fixture.token(.apple, carrying: nonce)
            try await expectFailure("nonce_spent") { try await fixture.signIn(.apple, token, nonce, at: service) }
        }
        #expect(try await fixture.count("nonces") == 0)
        _ = try await fixture.signIn(.apple, try fixture.token(.apple, carrying: real), real, at: service)
    }

    @Test(arguments: NoncePolicy.allCases)
    func `a nonce is good for ten minutes less a second, and no longer`(policy: NoncePolicy) async throws {
        let service = try fixture.service { $0.noncePolicy = policy }
        let nonces = [try service.nonces.issue(for: .apple).text, try service.nonces.issue(for: .apple).text]
        fixture.clock.advance(by: 599)
        _ = try await fixture.signIn(.apple, try fixture.token(.apple, carrying: nonces[0]), nonces[0], at: service)
        fixture.clock.advance(by: 1)
        let late = try fixture.token(.apple, carrying: nonces[1])
        try await expectFailure("nonce_spent") { try await fixture.signIn(.apple, late, nonces[1], at: service) }
    }

    @Test func `every key of the ring is believed while keys change`() async throws {
        let old = try SignInFixture.makeKeyRing(lines: [("k1", 7)])
        let added = try SignInFixture.makeKeyRing(lines: [("k1", 7), ("k2", 8)])
        let moved = try SignInFixture.makeKeyRing(lines: [("k2", 8), ("k1", 7)])
        let removed = try SignInFixture.makeKeyRing(lines: [("k2", 8)])
        func accepts(_ ring: KeyRing, from issuer: KeyRing) async throws -> Bool {
            let nonce = try fixture.service(keyRing: issuer).nonces.issue(for: .google).text
            let token = try fixture.token(.google, carrying: nonce)
            do {
                _ = try await fixture.signIn(.google, token, nonce, at: try fixture.service(keyRing: ring))
                return true
            } catch SignInFailure.credentialRejected(.nonceSpent, _) {
                return false
            }
        }
        #expect(try await accepts(added, from: old))
        #expect(try await accepts(added, from: moved))
        #expect(try await accepts(moved, from: added))
        #expect(try await !accepts(removed, from: added))
    }

    // MARK: Spending

    @Test(arguments: NoncePolicy.allCases)
    func `a token that does not verify leaves the nonce good`(policy: NoncePolicy) async throws {
        let service = try fixture.service { $0.noncePolicy = policy }
        let nonce = try service.nonces.issue(for: .apple).text
        let other = try service.nonces.issue(for: .apple).text
        let start = SignInFixture.start
        let forged = try TokenMint.otherSigner.token(
            .identity(.apple, to: SignInFixture.appleClient, of: "a-1", at: start)
                .with("nonce", .string(NonceForm.sha256Hex.text(of: nonce))))
        let expired = try fixture.token(.apple, carrying: nonce, [("exp", .integer(start - 61))])
        let cases = [
            ("malformed", "x"), ("signature_mismatch", String(decoding: forged, as: UTF8.self)),
            ("expired", expired),
            ("audience_rejected", try fixture.token(.apple, carrying: nonce, [("aud", "com.example.other")])),
            ("nonce_mismatch", try fixture.token(.apple, carrying: other)),
            ("nonce_missing", try fixture.apple("a-1")),
        ]
        for (reason, token) in cases {
            try await expectFailure(reason) { try await fixture.signIn(.apple, token, nonce, at: service) }
        }
        #expect(try await fixture.count("nonces") == 0)
        _ = try await fixture.signIn(.apple, try fixture.token(.apple, carrying: nonce), nonce, at: service)
    }

    @Test func `of fifty sign-ins with one nonce at once one gets in`() async throws {
        let nonce = try fixture.service.nonces.issue(for: .apple).text
        let token = try fixture.token(.apple, carrying: nonce)
        let processes = try (0..<2).map { _ in try fixture.service() }
        let outcomes = try await race(50) { index in
            try await fixture.signIn(.apple, token, nonce, at: processes[index % 2])
        }
        #expect(outcomes == ["won": 1, "nonce_spent": 49])
        #expect(try await fixture.count("link_tickets") == 1)
    }

    @Test func `no other process and no sweep forgets a nonce before it expires`() async throws {
        let nonce = try fixture.service.nonces.issue(for: .google).text
        let token = try fixture.token(.google, carrying: nonce)
        _ = try await fixture.signIn(.google, token, nonce, at: fixture.service)
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        for seconds in [0, 599, 1] as [Int64] {
            fixture.clock.advance(by: seconds)
            _ = try await sweeper.sweep()
            let again = try fixture.service()
            try await expectFailure("nonce_spent") { try await fixture.signIn(.google, token, nonce, at: again) }
        }
        // Kept for as long as another process's clock may be behind.
        #expect(try await fixture.count("nonces") == 1)
        fixture.clock.advance(by: 3_601)
        _ = try await sweeper.sweep()
        #expect(try await fixture.count("nonces") == 0)
    }

    @Test func `nobody gets in while the database can't say whether a nonce is spent`() async throws {
        let nonce = try fixture.service.nonces.issue(for: .apple).text
        let token = try fixture.token(.apple, carrying: nonce)
        try await fixture.withUnreachableDatabase { service in
            try await expectFailure("storageUnavailable") {
                try await fixture.signIn(.apple, token, nonce, at: service)
            }
        }
        // It was not used up.
        _ = try await fixture.signIn(.apple, token, nonce, at: fixture.service)
    }

    // MARK: Policies

    @Test func `where ours are required no other nonce does, and none does not either`() async throws {
        let service = try fixture.service { $0.noncePolicy = .required }
        for provider in Provider.allCases {
            let bare = try provider == .apple ? fixture.apple("a-1") : fixture.google("a-1")
            try await expectFailure("nonce_missing") { try await fixture.signIn(provider, bare, nil, at: service) }
            let made = try fixture.token(provider, carrying: "made-up")
            try await expectFailure("nonce_missing") { try await fixture.signIn(provider, made, nil, at: service) }
            for nonce in ["made-up", "CSN_made-up", ""] {
                let token = try fixture.token(provider, carrying: nonce)
                try await expectFailure("nonce_spent") { try await fixture.signIn(provider, token, nonce, at: service) }
            }
        }
        #expect(try await fixture.count("link_tickets") == 0)
    }

    @Test func `where they are optional an app's own nonce only has to match, and may come again`() async throws {
        for provider in Provider.allCases {
            let token = try fixture.token(provider, carrying: "made-up")
            for _ in 0..<2 { _ = try await fixture.signIn(provider, token, "made-up", at: fixture.service) }
        }
        #expect(try await fixture.count("nonces") == 0)
    }

    @Test
    func `an issued nonce that nobody posts is missing at Apple, and good once at Google all the same`() async throws {
        let service = try fixture.service(nonceForms: (.raw, .raw))
        let apple = try service.nonces.issue(for: .apple).text
        let appleToken = try fixture.token(.apple, carrying: apple, in: .raw)
        try await expectFailure("nonce_missing") { try await fixture.signIn(.apple, appleToken, nil, at: service) }
        #expect(try await fixture.count("nonces") == 0)
        _ = try await fixture.signIn(.apple, appleToken, apple, at: service)
        for isPostedFirst in [true, false] {
            let google = try service.nonces.issue(for: .google).text
            let token = try fixture.token(.google, carrying: google)
            _ = try await fixture.signIn(.google, token, isPostedFirst ? google : nil, at: service)
            for posted in [nil, google] {
                try await expectFailure("nonce_spent") { try await fixture.signIn(.google, token, posted, at: service) }
            }
        }
        try await expectFailure("nonce_spent") {
            try await fixture.signIn(.google, try fixture.token(.google, carrying: "csn_made-up"), nil, at: service)
        }
        // One that Google's SDK has made up means nothing.
        for _ in 0..<2 {
            let made = try fixture.token(.google, carrying: "k3Vq9Zt1wR7mX2bN")
            _ = try await fixture.signIn(.google, made, nil, at: service)
        }
    }

    @Test func `linking while signed in spends a nonce as signing in does`() async throws {
        let service = try fixture.service { $0.noncePolicy = .required }
        let kim = try await fixture.signUp(.apple("a-1"))
        let session = try await service.sessions.session(of: kim.session.bearer, by: service.calls.begin(by: .local))
        let nonce = try service.nonces.issue(for: .google).text
        let token = try fixture.token(.google, carrying: nonce)
        @Sendable func link(_ nonce: String?) async throws -> Identity {
            return try await service.linking.link(
                .google, .init(token: token, nonce: nonce), to: session, by: fixture.call)
        }
        try await expectFailure("nonce_missing") { try await link(nil) }
        #expect(try await link(nonce).key.provider == .google)
        try await expectFailure("nonce_spent") { try await link(nonce) }
        try await expectFailure("nonce_spent") { try await fixture.signIn(.google, token, nonce, at: service) }
    }
}

extension SignInFixture {
    /// A token whose nonce is the app's form of this raw one.
    fileprivate func token(
        _ provider: Provider, carrying nonce: String, in form: NonceForm? = nil,
        _ changes: [(String, TokenMint.Literal?)] = []
    ) throws -> String {
        let form = form ?? (provider == .apple ? .sha256Hex : .raw)
        let changes = [("nonce", TokenMint.Literal.string(form.text(of: nonce)))] + changes
        return try provider == .apple ? apple("a-1", changes) : google("g-1", changes)
    }

    fileprivate func signIn(
        _ provider: Provider, _ token: String, _ nonce: String?, at service: SignInService
    ) async throws -> SignInAnswer {
        return try await service.providers.signIn(
            with: provider, .init(token: token, nonce: nonce), by: service.calls.begin(by: client))
    }
}

extension NonceForm {
    /// The text that an app hands to the SDK for a raw nonce.
    func text(of nonce: String) -> String {
        let hash = SHA256.hash(Array(nonce.utf8))
        switch self {
        case .raw: return nonce
        case .sha256Base64url: return Base64URL.encode(hash)
        case .sha256Hex: return hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }
}
