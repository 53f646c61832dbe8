import Accounts
import JOSE
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The use cases, and the events that Apple and Google send about the same people.
struct ProviderEventFixture: ServiceFixture {
    static let risc = "https://schemas.openid.net/secevent/risc/event-type/"
    static let oauth = "https://schemas.openid.net/secevent/oauth/event-type/"
    static let start = SignInFixture.start

    let people: SignInFixture
    let events: ProviderEvents
    let sweeper: RetentionSweeper
    let log: RecordingLog

    static func run(_ body: (ProviderEventFixture) async throws -> Void) async throws {
        try await run(consentRevoked: .unlink, body)
    }

    static func run(
        consentRevoked: ConsentRevokedPolicy = .unlink, accountDeleted: AccountDeletedPolicy = .unlink,
        _ body: (ProviderEventFixture) async throws -> Void
    ) async throws {
        try await SignInFixture.run { people in
            let policy = ProviderEventPolicy(consentRevoked: consentRevoked, accountDeleted: accountDeleted)
            try await body(try ProviderEventFixture(people: people, policy: policy))
        }
    }

    init(
        people: SignInFixture,
        policy: ProviderEventPolicy = .init(consentRevoked: .unlink, accountDeleted: .unlink)
    ) throws {
        self.people = people
        log = RecordingLog()
        events = try Self.events(people, policy, store: people.storage.providerEvents, log: log)
        sweeper = people.storage.sweeper(clock: people.clock)
    }

    /// The event handling of another process, whose store may have another key ring.
    static func events(
        _ people: SignInFixture,
        _ policy: ProviderEventPolicy = .init(consentRevoked: .unlink, accountDeleted: .unlink),
        store: ProviderEventStore, backoff: EventBackoff = EventBackoff(), log: RecordingLog = RecordingLog()
    ) throws -> ProviderEvents {
        let keys = KeySource.fixed(try TokenMint.shared.keySet)
        return ProviderEvents(
            apple: AppleProvider(
                configuration: .init(teams: [.init(clientIDs: [ProviderClientID(SignInFixture.appleClient)])]),
                keys: keys),
            google: GoogleProvider(
                configuration: .init(clientIDs: [ProviderClientID(SignInFixture.googleClient)]), keys: keys),
            policy: policy, store: store, backoff: backoff, clock: people.clock,
            logger: log.logger)
    }

    var clock: ManualClock { people.clock }
    var database: Database { people.database }
    var storage: ServiceDatabase { people.storage }
    var service: SignInService { people.service }
    var client: Caller { people.client }

    func advance(by seconds: Int64) { people.clock.advance(by: seconds) }

    // MARK: Events

    /// An Apple notification.
    ///
    /// - Parameter time: of the event, in seconds from the start; now by default.
    func apple(
        _ type: String, of subject: String? = "kim", at time: Int64? = nil, id: String,
        _ changes: [(String, TokenMint.Literal?)] = [], by mint: TokenMint? = nil
    ) throws -> [UInt8] {
        let now = people.clock.now().seconds
        var event: TokenMint.Members = ["type": .string(type)]
        if let subject { event["sub"] = .string(subject) }
        event["event_time"] = .integer((time.map { Self.start + $0 } ?? now) * 1_000)
        var claims: TokenMint.Members = [
            "iss": "https://appleid.apple.com", "aud": .string(SignInFixture.appleClient), "iat": .integer(now),
            "jti": .string(id), "events": .string(String(decoding: event.bytes, as: UTF8.self)),
        ]
        for (name, value) in changes { claims[name] = value }
        return try (mint ?? TokenMint.shared).token(claims)
    }

    /// A security event token of Google's.
    ///
    /// - Parameters:
    ///   - members: the event's, beside its subject.
    ///   - time: of the event, in seconds from the start; now by default.
    func google(
        _ type: String, _ members: [(String, String)] = [], of subject: String? = "kim", at time: Int64? = nil,
        id: String, by mint: TokenMint? = nil
    ) throws -> [UInt8] {
        var person: TokenMint.Members = ["subject_type": "iss-sub", "iss": "https://accounts.google.com/"]
        if let subject { person["sub"] = .string(subject) }
        return try google(type, members, about: subject == nil ? nil : person, at: time, id: id, by: mint)
    }

    /// A security event token of Google's about a refresh token that was revoked.
    func google(revokedToken name: String, by algorithm: String, id: String) throws -> [UInt8] {
        let token: TokenMint.Members = [
            "subject_type": "oauth_token", "token_type": "refresh_token", "token_identifier_alg": .string(algorithm),
            "token": .string(name),
        ]
        return try google(Self.oauth + "token-revoked", [], about: token, at: nil, id: id, by: nil)
    }

    private func google(
        _ type: String, _ members: [(String, String)], about subject: TokenMint.Members?, at time: Int64?, id: String,
        by mint: TokenMint?
    ) throws -> [UInt8] {
        var event: TokenMint.Members = [:]
        event["subject"] = subject.map { .raw(String(decoding: $0.bytes, as: UTF8.self)) }
        for (name, value) in members { event[name] = .string(value) }
        let events = TokenMint.Members([(type, .raw(String(decoding: event.bytes, as: UTF8.self)))])
        return try (mint ?? TokenMint.shared).token([
            "iss": "https://accounts.google.com/", "aud": .string(SignInFixture.googleClient),
            "iat": .integer(time.map { Self.start + $0 } ?? people.clock.now().seconds), "jti": .string(id),
            "events": .raw(String(decoding: events.bytes, as: UTF8.self)),
        ])
    }

    /// Delivers tokens in this order and processes them.
    func deliver(_ provider: Provider, _ tokens: [UInt8]...) async throws {
        for token in tokens { try await events.take(token, from: provider) }
        try await processAll()
    }

    /// Processes all pending events.
    func processAll() async throws {
        for _ in 1...1_000 where try await events.processPending() == 0 { return }
        Issue.record("The events are still pending.")
    }

    // MARK: People

    func key(_ provider: Provider, _ subject: String = "kim") throws -> IdentityKey {
        IdentityKey(provider: provider, realm: .main, subject: try #require(ProviderSubject(subject)))
    }

    func token(_ provider: Provider, _ subject: String = "kim") throws -> String {
        try provider == .apple ? people.apple(subject) : people.google(subject)
    }

    /// A new account of this person.
    func account(_ provider: Provider, _ subject: String = "kim") async throws -> SignedIn {
        try await people.create(try await people.ticket(provider, token(provider, subject)))
    }

    /// Signs in a person who has an account.
    func session(_ provider: Provider, _ subject: String = "kim") async throws -> SignedIn {
        try await people.session(provider, token(provider, subject))
    }

    /// Binds another identity to the account of a session.
    func bind(_ provider: Provider, _ subject: String = "kim", to session: SignedIn) async throws -> SignedIn {
        try await people.bind(try await people.ticket(provider, token(provider, subject)), session.session.credential)
    }

    /// Stores a refresh token of the person, as an exchanged code would have brought it.
    func keep(_ refreshToken: String, _ provider: Provider, _ subject: String = "kim") async throws {
        let kept = try await storage.grants.keep(
            grant(ProviderRefreshToken(refreshToken), provider), for: try key(provider, subject),
            by: .at(people.clock.now()))
        #expect(kept)
    }

    func grant(_ refreshToken: ProviderRefreshToken, _ provider: Provider) -> NewGrant {
        NewGrant(
            clientID: ProviderClientID(
                provider == .apple ? SignInFixture.appleClient : SignInFixture.googleClient),
            refreshToken: refreshToken, exchangedAt: people.clock.now(), checkAt: nil)
    }
}

extension TokenMint.Members {
    fileprivate init(_ members: [(String, TokenMint.Literal)]) {
        self = [:]
        for (name, value) in members { append(name, value) }
    }
}
