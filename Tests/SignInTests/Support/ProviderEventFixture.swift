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
        people: SignInFixture, policy: ProviderEventPolicy = .init(consentRevoked: .unlink, accountDeleted: .unlink)
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
        let providers = try SignInFixture.providers()
        return ProviderEvents(
            apple: providers.apple, google: providers.google, policy: policy, store: store, backoff: backoff,
            clock: people.clock, logger: log.logger)
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
        return try (mint ?? TokenMint.shared).token(
            .appleEvent(
                type, to: SignInFixture.appleClient, of: subject, at: time.map { Self.start + $0 } ?? now,
                issuedAt: now, id: id
            ).with(changes))
    }

    /// An event of either provider.
    func event(
        _ provider: Provider, _ type: String, _ members: [(String, String)] = [], of subject: String = "kim", id: String
    ) throws -> [UInt8] {
        switch provider {
        case .apple: try apple(type, of: subject, id: id)
        case .google: try google(type, members, of: subject, id: id)
        }
    }

    /// A security event token of Google's.
    ///
    /// - Parameters:
    ///   - type: with the prefix of its kind or without.
    ///   - members: the event's, beside its subject.
    ///   - time: of the event, in seconds from the start; now by default.
    func google(
        _ type: String, _ members: [(String, String)] = [], of subject: String? = "kim", at time: Int64? = nil,
        id: String, by mint: TokenMint? = nil
    ) throws -> [UInt8] {
        let prefix = type.contains(":") ? "" : type.hasPrefix("token") ? Self.oauth : Self.risc
        return try google(prefix + type, members, about: subject.map { .googlePerson($0) }, at: time, id: id, by: mint)
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
        try (mint ?? TokenMint.shared).token(
            .googleEvent(
                type, to: SignInFixture.googleClient, about: subject,
                at: time.map { Self.start + $0 } ?? people.clock.now().seconds, id: id, members: members))
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

    func token(_ provider: Provider, _ subject: String = "kim") throws -> String { try people.token(provider, subject) }

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
            clientID: ProviderClientID(provider == .apple ? SignInFixture.appleClient : SignInFixture.googleClient),
            refreshToken: refreshToken, exchangedAt: people.clock.now(), checkAt: nil)
    }
}
