package import Accounts
package import Logging
package import Primitives
package import Providers
package import Storage

/// The features of signing in, made of one configuration. One object serves all requests; its state is in PostgreSQL.
///
/// A class, because a copy of all that it holds takes 190 KB of code wherever it is made.
package final class SignInService: Sendable {
    package struct Configuration: Sendable {
        package var verifiedEmailPolicy: VerifiedEmailPolicy
        /// The lifetime of an unused refresh token, in seconds.
        package var refreshLifetime: Int64
        /// The time from the opening of a session to its end, in seconds, however often it is refreshed; `nil` for no end.
        package var sessionLifetime: Int64?
        /// The redirect URIs that Apple's codes for web and Android may have been sent to.
        package var redirectURIs: [String]
        /// Those of them at which the service hands Apple's answer on to an app without looking at it. The app has to prove
        /// by its nonce that the sign-in is its own.
        package var relayRedirectURIs: [String] = []
        package var codeExchangeTimeout = CodeExchangeTimeout()
        package var strayAccountPolicy = StrayAccountPolicy.refuse
        package var noncePolicy = NoncePolicy.optional
        package var limits: [LimitKind: RateLimit] = [:]
        /// The languages in which mail can be written, the default one first; empty when no mail is sent.
        package var mailLanguages: [String] = []
        /// Signing in in a browser; `nil` when it is not offered.
        package var web: WebSignIn.Configuration?

        package init(verifiedEmailPolicy: VerifiedEmailPolicy, refreshLifetime: Int64, redirectURIs: [String] = []) {
            self.verifiedEmailPolicy = verifiedEmailPolicy
            self.refreshLifetime = refreshLifetime
            self.redirectURIs = redirectURIs
        }
    }

    /// What outlives a reload of the configuration: the service that replaces this one goes on with it.
    package struct Resources: Sendable {
        package let database: ServiceDatabase
        package let accessTokens: AccessTokens
        package let passwordHasher: PasswordHasher
        package let clock: any WallClock
        package let logger: Logger
        package let metrics = SignInMetrics()
        package let refusals: RefusalAggregator
        package let strayGrants: StrayGrants
        package var exports = PersonalDataExport.places()
        let codesUnderWay = CodesUnderWay()
        let changes: AccountChanges

        package init(
            database: ServiceDatabase, accessTokens: AccessTokens, passwordHasher: PasswordHasher,
            clock: any WallClock, logger: Logger
        ) {
            self.database = database
            self.accessTokens = accessTokens
            self.passwordHasher = passwordHasher
            self.clock = clock
            self.logger = logger
            refusals = RefusalAggregator(trail: database.audit, clock: clock)
            strayGrants = StrayGrants(store: database.revocations, clock: clock, logger: logger)
            changes = AccountChanges(connections: database.connections)
        }
    }

    package let configuration: Configuration
    package let providers: ProviderSignIn
    package let nonces: SignInNonces
    package let tickets: TicketLinking
    package let linking: IdentityLinking
    package let passwords: PasswordSignIn
    package let emailCodes: EmailCodeSignIn
    package let supportCodes: SupportCodes
    package let sessions: Sessions
    package let accounts: AccountSettings
    package let assertions: AssertionLinking
    /// The guesses at secrets, which are limited by network.
    package let secretGuesses: SecretGuesses
    package let notices: NoticeAllowance
    /// Signing in in a browser, if it is configured.
    package let web: WebSignIn?
    package let accessTokens: AccessTokens
    /// Makes the call of each request.
    package let calls: Calls
    /// The refusals on their way to the audit trail. The owner of the service flushes them.
    package let refusals: RefusalAggregator

    package init(
        configuration: Configuration, apple: AppleProvider?, google: GoogleProvider?, endpoints: TokenEndpoints,
        resources: Resources
    ) {
        let (database, refusals, metrics) = (resources.database, resources.refusals, resources.metrics)
        let (clock, logger) = (resources.clock, resources.logger)
        let limits = RateLimiter(
            configuration.limits, store: database.limits, knownNetworks: database.knownNetworks,
            keyRing: database.keyRing,
            refusals: refusals, clock: clock)
        let codes = EmailCodes(keyRing: database.keyRing)
        let offered = IdentityProviders(apple: apple, google: google)
        let issuer = SessionIssuer(
            accessTokens: resources.accessTokens, refreshTokens: RefreshTokens(keyRing: database.keyRing),
            lifetimes: SessionLifetimes(unused: configuration.refreshLifetime, absolute: configuration.sessionLifetime))
        let repetitions = RepeatedEvents(refusals: refusals)
        let known = KnownIdentities(
            identities: database.identities, accounts: database.accounts, grants: database.grants,
            transfers: database.transfers, apple: endpoints.apple, issuer: issuer, repetitions: repetitions,
            logger: logger)
        let tickets = LinkTickets(
            store: database.links, mailboxes: database.mailboxTickets, issuer: issuer,
            strayAccountPolicy: configuration.strayAccountPolicy, limits: limits)
        nonces = SignInNonces(
            issued: IssuedNonces(keyRing: database.keyRing), store: database.nonces, policy: configuration.noncePolicy,
            providers: offered, clock: clock)
        let codeExchange = CodeExchange(
            providers: offered, endpoints: endpoints, redirectURIs: configuration.redirectURIs,
            timeout: configuration.codeExchangeTimeout, revocations: database.revocations,
            revocationWorker: RevocationWorker(
                store: database.revocations, endpoints: endpoints, clock: clock, logger: logger),
            strayGrants: resources.strayGrants, underWay: resources.codesUnderWay, limits: limits, metrics: metrics,
            clock: clock, logger: logger)
        let verifier = CredentialVerifier(
            providers: offered, nonces: nonces, relayRedirectURIs: configuration.relayRedirectURIs,
            codes: codeExchange, refusals: refusals, repetitions: repetitions, audit: database.audit, metrics: metrics,
            logger: logger)

        providers = ProviderSignIn(
            verifier: verifier, known: known, tickets: tickets, accounts: database.accounts, repetitions: repetitions,
            verifiedEmailPolicy: configuration.verifiedEmailPolicy, metrics: metrics)
        linking = IdentityLinking(verifier: verifier, known: known, tickets: tickets, metrics: metrics)
        passwords = PasswordSignIn(
            accounts: database.accounts, sessions: database.sessions, issuer: issuer,
            hasher: resources.passwordHasher, limits: limits, refusals: refusals, metrics: metrics)
        emailCodes = EmailCodeSignIn(
            store: database.emailCodes, accounts: database.accounts, tickets: tickets, codes: codes, issuer: issuer,
            hasher: resources.passwordHasher, limits: limits, refusals: refusals, metrics: metrics)
        supportCodes = SupportCodes(store: database.emailCodes, codes: codes, limits: limits)
        assertions = AssertionLinking(
            accounts: database.accounts, known: known, tickets: tickets,
            verifiedEmailPolicy: configuration.verifiedEmailPolicy, metrics: metrics)
        secretGuesses = SecretGuesses(limits: limits)
        notices = NoticeAllowance(limits: limits)
        calls = Calls(clock: clock, mailLanguages: configuration.mailLanguages)
        sessions = Sessions(
            store: database.sessions, accounts: database.liveAccounts, refreshes: database.sessionRefreshes,
            issuer: issuer, repetitions: repetitions, metrics: metrics, logger: logger)
        accounts = AccountSettings(
            store: database.accounts, replacements: database.emailReplacements,
            personalData: database.personalData, exports: resources.exports, changes: resources.changes, codes: codes,
            hasher: resources.passwordHasher, limits: limits, repetitions: repetitions)
        self.tickets = TicketLinking(
            tickets: tickets, store: database.links, mailboxes: database.mailboxTickets, issuer: issuer,
            sessions: sessions,
            passwords: passwords, emailCodes: emailCodes, repetitions: repetitions,
            metrics: metrics)
        if let web = configuration.web {
            self.web = WebSignIn(
                configuration: web,
                sessions: WebSessions(store: database.webSessions, sessions: sessions),
                store: database.webFlows, codes: WebCodes(for: .app, keyRing: database.keyRing),
                registrations: database.webRegistrations, accounts: database.accounts,
                credentials: WebCredentials(
                    providers: offered, codes: codeExchange, refusals: refusals, metrics: metrics),
                persons: ProvenPersons(providers: providers, passwords: passwords, emailCodes: emailCodes),
                tickets: tickets, linking: self.tickets, identities: linking, passwords: passwords,
                emailCodes: emailCodes, limits: limits, refusals: refusals, calls: calls, logger: logger)
        } else {
            self.web = nil
        }
        self.configuration = configuration
        accessTokens = resources.accessTokens
        self.refusals = refusals
    }
}

/// The notices to addresses whose account may be another one each time.
package struct NoticeAllowance: Sendable {
    let limits: RateLimiter

    /// Counts one.
    ///
    /// - Parameter notice: what it says, in words that are the same for all that say the same.
    /// - Returns: whether the address may have one more of them.
    package func draw(_ notice: String, to address: EmailAddress) async throws(SignInFailure) -> Bool {
        try await limits.wait(.mailPerAddress, of: .one(notice, of: address.text)) == nil
    }
}

/// Wrong secrets of those who call on behalf of others, such as clients of the OAuth server. A right one always passes.
package struct SecretGuesses: Sendable {
    let limits: RateLimiter
    /// Before the networks in the keys of the allowances.
    var prefix = ""

    /// Those of staff at the console, counted apart: they use up nothing of people's, nor people of theirs.
    package var ofConsole: SecretGuesses { SecretGuesses(limits: limits, prefix: "console ") }

    /// Counts the beginning of a way through a browser that is not a person's of ours.
    package func noteBeginning(by call: Call) async throws(SignInFailure) {
        try await limits.drawNetworks(.webFlowsPerNetwork, prefix: prefix, by: call)
    }

    /// Counts a wrong secret.
    ///
    /// - Throws: ``SignInFailure/rateLimited(_:retryAfter:)`` when the caller's network has used its allowance up.
    package func noteWrong(by call: Call) async throws(SignInFailure) {
        try await limits.drawNetworks(.guessPerNetwork, prefix: prefix, by: call)
    }
}
