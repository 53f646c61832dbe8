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

/// The use cases over a database of their own, with keys of the test's for Apple and Google and a clock that stands still.
struct SignInFixture: ServiceFixture {
    static let start: Int64 = 1_767_225_600
    static let appleClient = "com.example.lamp"
    static let googleClient = "lamp-web.apps.googleusercontent.com"

    let clock = ManualClock(at: SignInFixture.start)
    let database: Database
    let storage: ServiceDatabase
    let keyRing: KeyRing
    let accessTokens: AccessTokens
    let passwordHasher: PasswordHasher
    let appleProvider: AppleProvider
    let log = RecordingLog()
    let service: SignInService

    /// `scrypt` with parameters that cost nothing; the real ones are tested with the hasher.
    static let cheap = Scrypt.Cost(n: 16, r: 1, p: 1)

    static func run(_ body: (SignInFixture) async throws -> Void) async throws { try await run(policy: .prompt, body) }

    /// - Parameters:
    ///   - poolSize: the connections to the database.
    ///   - configure: changes the configuration; by default no mail is sent and nothing is limited.
    static func run(
        policy: VerifiedEmailPolicy = .prompt, poolSize: Int = 4,
        configure: (inout SignInService.Configuration) -> Void = { _ in },
        _ body: (SignInFixture) async throws -> Void
    ) async throws {
        var configuration = SignInService.Configuration(verifiedEmailPolicy: policy, refreshLifetime: 5_184_000)
        configure(&configuration)
        let setPoolSize: (inout Database.Configuration) -> Void = { $0.poolSize = poolSize }
        try await ScratchDatabase.withMigratedPool(configure: setPoolSize) { database in
            try await body(try await SignInFixture(database: database, configuration: configuration))
        }
    }

    private init(database: Database, configuration: SignInService.Configuration) async throws {
        self.database = database
        keyRing = try SignInFixture.makeKeyRing()
        storage = ServiceDatabase(database, keyRing: keyRing)
        accessTokens = try await AccessTokens(
            configuration: .init(issuer: "https://auth.example.com", audience: "lamp-api", lifetime: 900),
            store: storage.signingKeys, keyRing: keyRing, clock: clock, logger: .silent)
        passwordHasher = try PasswordHasher(cost: SignInFixture.cheap, slots: 4, maximumWaiting: 1000)
        let providers = try SignInFixture.providers()
        appleProvider = providers.apple
        service = SignInService(
            configuration: configuration, apple: providers.apple, google: providers.google, endpoints: .none,
            resources: .init(
                database: storage, accessTokens: accessTokens, passwordHasher: passwordHasher, clock: clock,
                logger: log.logger))
    }

    /// The providers' rules, with the tests' keys.
    ///
    /// - Parameter nonceForms: how the apps hand nonces to each provider's SDK.
    static func providers(
        nonceForms: (apple: NonceForm, google: NonceForm) = (.sha256Hex, .raw)
    ) throws -> (apple: AppleProvider, google: GoogleProvider) {
        let keys = KeySource.fixed(try TokenMint.shared.keySet)
        let team = AppleProvider.Configuration.Team(clientIDs: [ProviderClientID(appleClient)])
        let apple = AppleProvider(configuration: .init(teams: [team], nonceForm: nonceForms.apple), keys: keys)
        let google = GoogleProvider(
            configuration: .init(clientIDs: [ProviderClientID(googleClient)], nonceForm: nonceForms.google), keys: keys)
        return (apple, google)
    }

    static func makeKeyRing(id: String = "k1", octet: UInt8 = 7) throws -> KeyRing {
        try makeKeyRing(lines: [(id, octet)])
    }

    static func makeKeyRing(lines: [(id: String, octet: UInt8)]) throws -> KeyRing {
        let lines = lines.map { line in
            let key = Base64URL.encode([UInt8](repeating: line.octet, count: 32))
                .replacing("-", with: "+").replacing("_", with: "/")
            return "\(line.id) \(key)=\n"
        }
        return try KeyRing(parsing: lines.joined())
    }

    let client = Caller(requestID: "test", address: "192.0.2.1", device: Device(name: "Kim's phone", platform: "ios"))

    // MARK: Tokens

    func apple(_ subject: String, _ changes: [(String, TokenMint.Literal?)] = []) throws -> String {
        try token(.apple, subject, changes)
    }

    func google(_ subject: String, _ changes: [(String, TokenMint.Literal?)] = []) throws -> String {
        try token(.google, subject, changes)
    }

    func token(
        _ provider: Provider, _ subject: String, _ changes: [(String, TokenMint.Literal?)] = []
    ) throws -> String { try Self.token(provider, subject, changes, at: clock.now()) }

    /// A provider's token, issued at that time.
    static func token(
        _ provider: Provider, _ subject: String, _ changes: [(String, TokenMint.Literal?)], at now: Timestamp
    ) throws -> String {
        let client = provider == .apple ? appleClient : googleClient
        let claims = TokenMint.Members.identity(provider, to: client, of: subject, at: now.seconds).with(changes)
        return String(decoding: try TokenMint.shared.token(claims), as: UTF8.self)
    }

    static func email(_ address: String, verified: TokenMint.Literal = true) -> [(String, TokenMint.Literal?)] {
        [("email", .string(address)), ("email_verified", verified)]
    }

    static let relay: [(String, TokenMint.Literal?)] = [("is_private_email", true)]

    /// Google's claim of an address of a domain that it hosts: it runs the mailbox.
    static func hosted(_ address: String) -> [(String, TokenMint.Literal?)] {
        email(address) + [("hd", .string(address.split(separator: "@").last.map(String.init) ?? ""))]
    }

    /// Apple's claim of an address of its own mail domains, which is no relay: it runs the mailbox.
    static func appleMail(_ address: String) -> [(String, TokenMint.Literal?)] {
        email(address) + [("is_private_email", false)]
    }

    // MARK: Calls

    func signIn(
        _ provider: Provider, _ token: String, nonce: String? = nil, by caller: Caller? = nil
    ) async throws -> SignInAnswer {
        try await service.providers.signIn(
            with: provider, .init(token: token, nonce: nonce), by: call(by: caller ?? client))
    }

    /// The ticket of a person who has no account yet.
    func ticket(_ provider: Provider, _ token: String) async throws -> LinkRequired {
        try await signIn(provider, token).ticket
    }

    /// Signs in a person who has an account.
    func session(_ provider: Provider, _ token: String) async throws -> SignedIn {
        try await signIn(provider, token).session
    }

    func bind(_ ticket: LinkRequired, _ credential: BindCredential, replacing: Bool = false) async throws -> SignedIn {
        try await answer(toBinding: ticket, credential, replacing: replacing).session
    }

    func answer(
        toBinding ticket: LinkRequired, _ credential: BindCredential, replacing: Bool = false
    ) async throws -> SignInAnswer {
        try await service.tickets.bind(
            linkTicket: ticket.linkTicket, credential: credential, replacing: replacing, by: call)
    }

    /// Expects a call to be refused whose session ends while it waits for its account.
    func expectEndedMeanwhile<Value: Sendable>(
        sourceLocation: SourceLocation = #_sourceLocation, _ call: @escaping @Sendable () async throws -> Value
    ) async throws {
        let calling = try await interleave { transaction in
            try await transaction.execute("SELECT FROM accounts FOR UPDATE")
            try await transaction.execute("UPDATE sessions SET ended_at = now(), end_reason = 'signed_out'")
        } with: {
            try await call()
        }
        try await expectFailure("invalidSession", sourceLocation: sourceLocation) { try await calling.value }
    }

    enum Unexpected: Error { case signedIn, linkRequired, succeeded }
}

extension SignInAnswer {
    /// What was opened.
    var session: SignedIn {
        get throws {
            guard case .signedIn(let signedIn) = self else { throw SignInFixture.Unexpected.linkRequired }
            return signedIn
        }
    }

    /// What has to be chosen.
    var ticket: LinkRequired {
        get throws {
            guard case .linkRequired(let required) = self else { throw SignInFixture.Unexpected.signedIn }
            return required
        }
    }
}

extension LinkRequired {
    /// The person's identity at a provider; `nil` for the reader of a mailbox.
    var identity: VerifiedIdentity? { if case .identity(let identity) = person { identity } else { nil } }
}

/// The failure that a call ends in, by the name of its case.
func failure<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> String {
    try await signInFailure(body).name
}

private func signInFailure<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> SignInFailure {
    do {
        _ = try await body()
    } catch let failure as SignInFailure { return failure }
    throw SignInFixture.Unexpected.succeeded
}

extension SignInFailure {
    fileprivate var name: String {
        if case .credentialRejected(let reason, _) = self { return reason.rawValue }
        return String(describing: self).split(separator: "(").first.map(String.init) ?? ""
    }
}

/// The outcomes of `count` parallel calls, counted: `won`, or the name of the failure; of the database's with what it said.
func race<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Value
) async throws -> [String: Int] {
    let outcomes = try await concurrently(0..<count) { index -> String in
        do {
            let failure = try await signInFailure { try await body(index) }
            if case .storageUnavailable = failure { return String(describing: failure) }
            return failure.name
        } catch SignInFixture.Unexpected.succeeded { return "won" }
    }
    return outcomes.reduce(into: [:]) { $0[$1, default: 0] += 1 }
}

/// Expects a call to end in the failure of that name.
func expectFailure<Value: Sendable>(
    _ name: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @Sendable () async throws -> Value
) async throws {
    let ended = try await signInFailure(body)
    #expect(ended.name == name, "\(ended)", sourceLocation: sourceLocation)
}

/// Expects a call to end in this very failure.
func expectFailure<Value: Sendable>(
    _ failure: SignInFailure, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @Sendable () async throws -> Value
) async { await #expect(throws: failure, sourceLocation: sourceLocation) { _ = try await body() } }

extension IssuedSession {
    var bearer: [UInt8] { Array(accessToken.utf8) }
    var credential: BindCredential { .session(bearer) }
}
