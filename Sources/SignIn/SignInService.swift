package import Accounts
package import KeyRing
package import Logging
import OpenSSL
package import Providers
package import Storage

/// The use cases of signing in. One value serves all requests; its state is in PostgreSQL.
package struct SignInService: Sendable {
    package struct Configuration: Sendable {
        package var verifiedEmailPolicy: VerifiedEmailPolicy
        /// The lifetime of an unused refresh token, in seconds.
        package var refreshLifetime: Int64
        /// The redirect URIs that Apple's codes for web and Android may have been sent to.
        package var redirectURIs: [String]
        package var codeExchangeTimeout = CodeExchangeTimeout()
        package var strayAccountPolicy = StrayAccountPolicy.refuse
        package var noncePolicy = NoncePolicy.optional
        package var limits: [LimitKind: RateLimit] = [:]
        /// The languages in which mail can be written, the default one first; empty when no mail is sent.
        package var mailLanguages: [String] = []

        package init(verifiedEmailPolicy: VerifiedEmailPolicy, refreshLifetime: Int64, redirectURIs: [String] = []) {
            self.verifiedEmailPolicy = verifiedEmailPolicy
            self.refreshLifetime = refreshLifetime
            self.redirectURIs = redirectURIs
        }
    }

    /// The lifetime of a link ticket, in seconds: the time that an unknown person has to choose.
    package static let ticketLifetime: Int64 = 600

    package let configuration: Configuration
    package let apple: AppleProvider?
    let google: GoogleProvider?
    let endpoints: TokenEndpoints
    let revocations: RevocationWorker
    let stores: Stores
    let accessTokens: AccessTokens
    let refreshTokens: RefreshTokens
    let passwordHasher: PasswordHasher
    let limits: RateLimiter
    let emailCodes: EmailCodes
    let issuedNonces: IssuedNonces
    let clock: any WallClock
    let logger: Logger
    /// The refusals on their way to the audit trail. The owner of the service flushes them.
    package let refusals: RefusalAggregator
    let exchanges = OutcomeCounters<ExchangeOutcome>(label: "countersign_code_exchanges_total")
    let metrics: SignInMetrics

    /// - Parameters:
    ///   - refusals: the aggregator of the service that this one replaces; a new one if absent.
    ///   - metrics: likewise.
    package init(
        configuration: Configuration, apple: AppleProvider?, google: GoogleProvider?,
        endpoints: TokenEndpoints, stores: Stores, accessTokens: AccessTokens, keyRing: KeyRing,
        passwordHasher: PasswordHasher, refusals: RefusalAggregator? = nil, metrics: SignInMetrics = SignInMetrics(),
        clock: any WallClock, logger: Logger
    ) {
        self.configuration = configuration
        self.apple = apple
        self.google = google
        self.endpoints = endpoints
        self.revocations = RevocationWorker(
            store: stores.revocations, endpoints: endpoints, clock: clock, logger: logger)
        self.stores = stores
        self.accessTokens = accessTokens
        self.refreshTokens = RefreshTokens(keyRing: keyRing)
        self.passwordHasher = passwordHasher
        self.refusals = refusals ?? RefusalAggregator(trail: stores.audit, clock: clock)
        self.metrics = metrics
        self.limits = RateLimiter(
            configuration.limits, store: stores.limits, keyRing: keyRing, refusals: self.refusals, clock: clock)
        self.emailCodes = EmailCodes(keyRing: keyRing)
        self.issuedNonces = IssuedNonces(keyRing: keyRing)
        self.clock = clock
        self.logger = logger
    }
}

/// The caller of a use case: kept with the session, named in the log.
package struct Client: Sendable {
    package let requestID: String
    /// The network address as text.
    package let address: String?
    /// The IPv4 /24 or IPv6 /64 of the address: what one party usually has to itself.
    package let network: String?
    package let device: Device?
    /// The languages that the client asks for, preferred ones first: tags in lower case (RFC 5646).
    package let languages: [String]

    package init(
        requestID: String, address: String?, network: String? = nil, device: Device?, languages: [String] = []
    ) {
        self.requestID = requestID
        self.address = address
        self.network = network
        self.device = device
        self.languages = languages
    }

    /// The same caller, with the device that an earlier request named.
    func with(_ device: Device?) -> Client {
        Client(
            requestID: requestID, address: address, network: network, device: self.device ?? device,
            languages: languages)
    }
}

/// The two tokens of a session, as the client receives them.
package struct IssuedSession: Sendable {
    package let id: SessionID
    package let accessToken: String
    /// Seconds.
    package let expiresIn: Int64
    package let refreshToken: String
    package let refreshExpiresAt: Timestamp
}

package struct SignedIn: Sendable {
    package let session: IssuedSession
    package let account: Account
    /// The identity that opened the session; `nil` for a password or a mailed code.
    package let identity: Identity?
}

package struct LinkRequired: Sendable {
    package let linkTicket: String
    package let expiresAt: Timestamp
    package let identity: VerifiedIdentity
    package let choices: [LinkChoice]
}

package enum SignInAnswer: Sendable {
    case signedIn(SignedIn)
    case linkRequired(LinkRequired)
}

extension SignInService {
    /// The issuer that our tokens name.
    package var issuer: String { accessTokens.configuration.issuer }
    /// Our key set (RFC 7517), for verifiers of our tokens.
    package var publishedKeys: [UInt8] { accessTokens.publishedKeys }

    /// The origin under which a change by the client is recorded and mailed.
    func origin(_ client: Client) -> ChangeOrigin {
        ChangeOrigin(
            actor: .person, requestID: client.requestID, network: client.network,
            mailLanguage: mailLanguage(for: client))
    }

    /// The language in which to write to the client, by the lookup of RFC 4647 §3.4: `de-at` finds `de`.
    ///
    /// - Returns: `nil` when no mail is sent.
    func mailLanguage(for client: Client) -> String? {
        for wanted in client.languages {
            var subtags = wanted.split(separator: "-")
            while !subtags.isEmpty {
                let range = subtags.joined(separator: "-")
                if let language = configuration.mailLanguages.first(where: { $0.lowercased() == range }) {
                    return language
                }
                subtags.removeLast()
            }
        }
        return configuration.mailLanguages.first
    }

    func newSession(
        authenticatedAt: Timestamp, atProvider providerTime: Timestamp? = nil, methods: [AuthenticationMethod],
        client: Client, now: Timestamp
    ) throws(SignInFailure) -> NewSession {
        NewSession(
            id: try freshID(now), authenticatedAt: min(authenticatedAt, now),
            providerAuthenticatedAt: providerTime.map { min($0, now) }, methods: methods, now: now,
            expiresAt: now.advanced(bySeconds: configuration.refreshLifetime), device: client.device,
            address: client.address, requestID: client.requestID, network: client.network)
    }

    func freshID<Entity>(_ now: Timestamp) throws(SignInFailure) -> Identifier<Entity> {
        do {
            return Identifier(now: now, random: try SecureRandom.bytes(10))
        } catch {
            throw .fault(operation: "random")
        }
    }

    func freshSecret() throws(SignInFailure) -> OpaqueSecret {
        do {
            return try OpaqueSecret()
        } catch {
            throw .fault(operation: "random")
        }
    }

    func issue(_ session: Session, at now: Timestamp) throws(SignInFailure) -> IssuedSession {
        do {
            return IssuedSession(
                id: session.id, accessToken: try accessTokens.token(for: session, at: now),
                expiresIn: accessTokens.configuration.lifetime,
                refreshToken: try refreshTokens.token(for: session.id, generation: session.generation),
                refreshExpiresAt: session.expiresAt)
        } catch let failure as SignInFailure {
            throw failure
        } catch {
            throw .fault(operation: "issue session")
        }
    }

    func signedIn(
        _ account: Account, identityID: IdentityID?, newSession: NewSession
    ) throws(SignInFailure) -> SignedIn {
        let session = Session(
            id: newSession.id, accountID: account.id, identityID: identityID,
            authenticatedAt: newSession.authenticatedAt,
            methods: newSession.methods, createdAt: newSession.now, expiresAt: newSession.expiresAt, generation: 1)
        return SignedIn(
            session: try issue(session, at: newSession.now), account: account,
            identity: account.identities.first { $0.id == identityID })
    }

    /// Runs a storage call and turns its error into a failure of the use case.
    func stored<Result: Sendable>(
        _ operation: () async throws -> Result
    ) async throws(SignInFailure) -> Result {
        do {
            return try await operation()
        } catch {
            throw SignInFailure(StorageFailure(error))
        }
    }
}
