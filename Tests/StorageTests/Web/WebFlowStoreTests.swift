import Accounts
import KeyRing
import Postgres
import TestSupport
import Testing

@testable import Storage

/// The store of web flows over a database of its own, and a clock that a test moves.
struct WebFlowWorld: TestFixture {
    static let start = Timestamp(seconds: 1_767_225_600)
    static let browser = SecretHash([UInt8](repeating: 1, count: 32))

    let database: Database
    let storage: ServiceDatabase

    var store: WebFlowStore { storage.webFlows }

    static func run(_ body: (WebFlowWorld) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            try await body(WebFlowWorld(database: database, storage: storage(on: database)))
        }
    }

    static func storage(on database: Database, line: String = "k1") throws -> ServiceDatabase {
        let key = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
        return ServiceDatabase(database, keyRing: try KeyRing(parsing: "\(line) \(key)\n"))
    }

    static func hash(_ octet: UInt8) -> SecretHash { SecretHash([UInt8](repeating: octet, count: 32)) }

    static func time(_ seconds: Int64) -> Timestamp { start.advanced(bySeconds: seconds) }

    /// Opens a flow that ends at an app.
    @discardableResult
    func open(network: Network? = "192.0.2.0/24", at seconds: Int64 = 0) async throws -> WebFlowID {
        let now = Self.time(seconds)
        let uri = try #require(AppRedirectURI(registering: "https://lamp.example.com/cb"))
        let query = AuthorizeQuery(
            app: ["lamp"], redirectURI: [uri.text], codeChallenge: ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
            codeChallengeMethod: ["S256"], state: ["0123456789abcdef"])
        let decision = AppAuthorization.decide(
            query, apps: [WebApp(id: "lamp", name: "Lamp", redirectURIs: [uri])], offered: [], issuer: "i")
        guard case .open(let app) = decision else { throw Unexpected() }
        let id = WebFlowID(now: now)
        _ = try await store.open(
            NewWebFlow(
                id: id, kind: .app, browserHash: Self.browser, app: app, languages: ["de"], network: network,
                expiresAt: now.advanced(bySeconds: 600)), by: .at(now))
        return id
    }

    func send(_ id: WebFlowID, to provider: Provider = .apple, state: UInt8) async throws -> Bool {
        try await store.send(
            id, of: Self.browser,
            to: WebProviderRequest(
                provider: provider, realm: .main, clientID: "client", redirectURI: "https://auth.example.com/cb",
                stateHash: Self.hash(state), secrets: WebFlowSecrets(nonce: "n0nce", verifier: nil)),
            by: .at(Self.start))
    }

    /// A flow of a proven person, with its code.
    func coded(_ octet: UInt8, for person: ProvenPerson? = nil, at seconds: Int64 = 0) async throws -> WebFlowID {
        let id = try await open(at: seconds)
        let code = NewWebCode(hash: Self.hash(octet), expiresAt: Self.time(seconds + 60))
        #expect(try await take(id, for: person, code: code, at: seconds) != nil)
        return id
    }

    /// - Parameter person: one who was proven by a password, by default.
    func take(
        _ id: WebFlowID, for person: ProvenPerson? = nil, code: NewWebCode? = nil, at seconds: Int64 = 0
    ) async throws -> StoredWebFlow? {
        let now = Self.time(seconds)
        let byPassword = ProvenPerson.password(AccountID(now: Self.start), passwordHash: PasswordHash("h"), at: now)
        return try await store.take(id, of: Self.browser, for: person ?? byPassword, code: code, by: .at(now))
    }

    func spend(_ octet: UInt8) async throws -> WebCodeOutcome {
        try await store.spend(Self.hash(octet), by: .at(Self.time(1), from: Self.origin)) { _, _ in true }
    }

    /// Sweeps as the service does, which keeps flows for an hour after their end.
    func sweep(at seconds: Int64) async throws {
        _ = try await store.sweep(by: .at(Self.time(seconds)), endedBefore: Self.time(seconds - 3_600), limit: 200)
    }

    func status(_ id: WebFlowID) async throws -> WebFlowStatus? {
        try await database.query("SELECT status FROM web_flows WHERE flow_id = \(id)", as: WebFlowStatus.self).first
    }

    static let origin = ChangeOrigin(actor: .person, requestID: "r")

    struct Unexpected: Error {}
}

@Suite(.fixture(WebFlowWorld.self)) struct WebFlowStoreTests {
    var world: WebFlowWorld { .current }

    @Test func `the oldest flow of a network gives way to one too many`() async throws {
        let oldest = try await world.open(at: 0)
        let elsewhere = try await world.open(network: "198.51.100.0/24", at: 0)
        let unknown = try await world.open(network: nil, at: 0)
        // One that has ended doesn't count, and is not deleted: it may hold a grant.
        let coded = try await world.coded(9, at: 1)
        for _ in 2...WebFlowStore.openPerNetwork { try await world.open(at: 2) }
        #expect(try await world.status(oldest) == .new)
        try await world.open(at: 3)
        #expect(try await world.status(oldest) == nil)
        #expect(
            try await world.database.count("web_flows WHERE network = '192.0.2.0/24' AND status = 'new'")
                == WebFlowStore.openPerNetwork)
        #expect(try await world.status(elsewhere) == .new)
        #expect(try await world.status(unknown) == .new)
        #expect(try await world.status(coded) == .coded)
    }

    @Test func `a flow goes its way once, and only its way`() async throws {
        let id = try await world.open()
        let now = WebFlowWorld.time(0)
        let answer = HeldAnswer(code: "c", idToken: "t", user: nil, error: nil)
        #expect(
            try await !world.store.hold(
                answer, ofState: WebFlowWorld.hash(2), handleHash: WebFlowWorld.hash(3), by: .at(now))
        )
        #expect(try await world.send(id, state: 2))
        let outcomes = try await concurrently(10..<20 as Range<UInt8>) { octet in
            try await world.store.hold(
                answer, ofState: WebFlowWorld.hash(2), handleHash: WebFlowWorld.hash(octet), by: .at(now))
        }
        #expect(outcomes.filter(\.self).count == 1)
        let handle = try await world.database.query("SELECT handle_hash FROM web_flows", as: SecretHash.self)[0]
        let taken = try await concurrently(0..<10) { _ in
            try await world.store.take(.handle(handle), from: .apple, by: WebFlowWorld.browser, by: .at(now))
        }.compactMap { $0 }
        #expect(taken.count == 1)
        #expect(taken.first?.held?.idToken == "t" && taken.first?.secrets?.nonce == "n0nce")
        #expect(try await world.status(id) == .verifying)
        // From here on it is neither sent nor taken, nor given up.
        #expect(try await !world.send(id, state: 4))
        #expect(try await world.take(id) == nil)
        #expect(try await !world.store.cancel(id, of: WebFlowWorld.browser, by: .at(now)))
        #expect(try await world.store.read(id, of: WebFlowWorld.browser, by: .at(now)) == nil)
        #expect(try await !world.store.keep(linkTicket: "t", of: WebFlowID(now: now), until: now))
    }

    @Test func `what is sealed opens in its own row and column alone`() async throws {
        let (one, two) = (try await world.open(), try await world.open())
        let now = WebFlowWorld.time(0)
        #expect(try await world.send(one, to: .google, state: 2))
        #expect(try await world.send(two, to: .google, state: 3))
        try await world.database.execute(
            """
            UPDATE web_flows f
            SET sealed_secrets = (SELECT sealed_secrets FROM web_flows WHERE flow_id = \(two))
            WHERE f.flow_id = \(one)
            """)
        await #expect(throws: SealError.self) {
            try await world.store.take(
                .state(WebFlowWorld.hash(2)), from: .google, by: WebFlowWorld.browser, by: .at(now))
        }
        let answer = try await world.store.take(
            .state(WebFlowWorld.hash(3)), from: .google, by: WebFlowWorld.browser, by: .at(now))
        #expect(answer?.secrets?.nonce == "n0nce")
    }

    @Test func `a person comes back as they were sealed, with an address that has a character that isn't shown`()
        async throws
    {
        let now = WebFlowWorld.time(0)
        let address = try #require(EmailAddress.existing("kim\u{FE0F}@example.com"))
        let identity = VerifiedIdentity(
            key: IdentityKey(provider: .google, realm: .main, subject: try #require(ProviderSubject("kim"))),
            email: ProviderEmail(address: address, isVerified: true, isPrivateRelay: false, isAuthoritative: false),
            clientID: "client", authenticatedAt: now, issuedAt: now)
        _ = try await world.coded(2, for: .identity(identity, grant: nil, displayName: nil))
        guard case .spent(_, .identity(identity, grant: nil, displayName: nil)) = try await world.spend(2) else {
            return #expect(Bool(false))
        }
        let code = EmailCode(
            id: EmailCodeID(now: now), keyID: "k1", email: address, purpose: .signIn, expiresAt: WebFlowWorld.time(600))
        _ = try await world.coded(3, for: .emailCode(code, at: now))
        guard case .spent(_, .emailCode(code, at: now)) = try await world.spend(3) else { return #expect(Bool(false)) }
    }

    @Test func `a person whom nobody asked for is forgotten, one that can't be read later`() async throws {
        let readable = try await world.coded(2)
        let foreign = WebFlowWorld(
            database: world.database, storage: try WebFlowWorld.storage(on: world.database, line: "lost"))
        let unreadable = try await foreign.coded(3)
        await #expect(throws: SealError.self) { try await world.sweep(at: 60) }
        #expect(try await world.status(readable) == .failed)
        #expect(try await world.status(unreadable) == .coded)
        #expect(try await world.database.count("web_flows WHERE sealed_person IS NOT NULL") == 1)
        await #expect(throws: SealError.self) { try await world.sweep(at: 4_201) }
        #expect(try await world.database.count("web_flows") == 0)
    }

    @Test func `a person whose exchange failed is kept for a while, then forgotten`() async throws {
        let id = try await world.coded(2)
        let outcome = try await world.spend(2)
        guard case .spent(id, .password(_, PasswordHash("h"), _)) = outcome else { return #expect(Bool(false)) }
        try await world.sweep(at: 659)
        #expect(try await world.database.count("web_flows WHERE sealed_person IS NOT NULL") == 1)
        try await world.sweep(at: 660)
        #expect(try await world.database.count("web_flows WHERE sealed_person IS NOT NULL") == 0)
    }

    @Test func `a second use that comes before the first has opened anything ends that as well`() async throws {
        let id = try await world.coded(2)
        guard case .spent = try await world.spend(2), case .reused = try await world.spend(2),
            case .unknown = try await world.spend(2)
        else { return #expect(Bool(false)) }
        let (account, session) = try await world.database.addSession(at: WebFlowWorld.start)
        try await world.store.note(
            .session(session, of: account), of: id, by: .at(WebFlowWorld.time(2), from: WebFlowWorld.origin))
        #expect(try await world.storage.sessions.live(session, by: .at(WebFlowWorld.time(2))) == nil)
    }
}
