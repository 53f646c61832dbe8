package import Accounts
package import KeyRing
package import Logging
package import Primitives
package import Providers
package import Storage

/// The features of signing in, made of one configuration. One value serves all requests; its state is in PostgreSQL.
package struct SignInService: Sendable {
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

    package let configuration: Configuration
    package let providers: ProviderSignIn
    package let nonces: SignInNonces
    package let tickets: TicketLinking
    package let linking: IdentityLinking
    package let passwords: PasswordSignIn
    package let emailCodes: EmailCodeSignIn
    package let sessions: Sessions
    package let accounts: AccountSettings
    package let assertions: AssertionLinking
    /// The guesses at secrets, which are limited by network.
    package let secretGuesses: SecretGuesses
    /// Signing in in a browser, if it is configured.
    package let web: WebSignIn?
    package let accessTokens: AccessTokens
    let mailLanguages: MailLanguages
    /// The refusals on their way to the audit trail. The owner of the service flushes them.
    package let refusals: RefusalAggregator

    /// - Parameters:
    ///   - refusals: the aggregator of the service that this one replaces; a new one if absent.
    ///   - metrics: likewise.
    ///   - codesUnderWay: likewise.
    ///   - exports: likewise; those of administrators count among them.
    package init(
        configuration: Configuration, apple: AppleProvider?, google: GoogleProvider?,
        endpoints: TokenEndpoints, stores: Stores, accessTokens: AccessTokens, keyRing: KeyRing,
        passwordHasher: PasswordHasher, refusals: RefusalAggregator? = nil, metrics: SignInMetrics = SignInMetrics(),
        codesUnderWay: CodesUnderWay = CodesUnderWay(), exports: ConcurrencyLimit = PersonalDataExport.concurrency(),
        strayGrants: StrayGrants? = nil, clock: any WallClock, logger: Logger
    ) {
        let refusals = refusals ?? RefusalAggregator(trail: stores.audit, clock: clock)
        let limits = RateLimiter(
            configuration.limits, store: stores.limits, knownNetworks: stores.knownNetworks, keyRing: keyRing,
            refusals: refusals, clock: clock)
        let mailLanguages = MailLanguages(tags: configuration.mailLanguages)
        let codes = EmailCodes(keyRing: keyRing)
        let offered = IdentityProviders(apple: apple, google: google)
        let issuer = SessionIssuer(
            accessTokens: accessTokens, refreshTokens: RefreshTokens(keyRing: keyRing),
            lifetimes: SessionLifetimes(
                unused: configuration.refreshLifetime, absolute: configuration.sessionLifetime))
        let repetitions = RepeatedEvents(refusals: refusals)
        let known = KnownIdentities(
            identities: stores.identities, accounts: stores.accounts, grants: stores.grants,
            transfers: stores.transfers, issuer: issuer, repetitions: repetitions, mailLanguages: mailLanguages)
        let tickets = LinkTickets(
            store: stores.links, mailboxes: stores.mailboxTickets, issuer: issuer,
            strayAccountPolicy: configuration.strayAccountPolicy,
            mailLanguages: mailLanguages)
        nonces = SignInNonces(
            issued: IssuedNonces(keyRing: keyRing), store: stores.nonces, policy: configuration.noncePolicy,
            providers: offered, clock: clock)
        let codeExchange = CodeExchange(
            providers: offered, endpoints: endpoints, redirectURIs: configuration.redirectURIs,
            timeout: configuration.codeExchangeTimeout, revocations: stores.revocations,
            revocationWorker: RevocationWorker(
                store: stores.revocations, endpoints: endpoints, clock: clock, logger: logger),
            strayGrants: strayGrants ?? StrayGrants(store: stores.revocations, clock: clock, logger: logger),
            underWay: codesUnderWay, limits: limits, metrics: metrics, clock: clock, logger: logger)
        let verifier = CredentialVerifier(
            providers: offered, nonces: nonces, relayRedirectURIs: configuration.relayRedirectURIs,
            codes: codeExchange, refusals: refusals, repetitions: repetitions, audit: stores.audit, metrics: metrics,
            logger: logger)

        providers = ProviderSignIn(
            verifier: verifier, known: known, tickets: tickets, accounts: stores.accounts, repetitions: repetitions,
            verifiedEmailPolicy: configuration.verifiedEmailPolicy, mailLanguages: mailLanguages, metrics: metrics,
            clock: clock)
        linking = IdentityLinking(
            verifier: verifier, known: known, tickets: tickets, metrics: metrics, clock: clock)
        passwords = PasswordSignIn(
            accounts: stores.accounts, sessions: stores.sessions, issuer: issuer, hasher: passwordHasher,
            limits: limits, mailLanguages: mailLanguages, metrics: metrics, clock: clock)
        emailCodes = EmailCodeSignIn(
            store: stores.emailCodes, accounts: stores.accounts, tickets: tickets, codes: codes, issuer: issuer,
            hasher: passwordHasher, limits: limits, refusals: refusals, mailLanguages: mailLanguages, metrics: metrics,
            clock: clock)
        assertions = AssertionLinking(
            accounts: stores.accounts, tickets: tickets,
            verifiedEmailPolicy: configuration.verifiedEmailPolicy, mailLanguages: mailLanguages, metrics: metrics,
            clock: clock)
        secretGuesses = SecretGuesses(limits: limits)
        self.mailLanguages = mailLanguages
        sessions = Sessions(
            store: stores.sessions, issuer: issuer, repetitions: repetitions, mailLanguages: mailLanguages,
            metrics: metrics, clock: clock, logger: logger)
        accounts = AccountSettings(
            store: stores.accounts, replacements: stores.emailReplacements,
            personalData: stores.personalData, exports: exports,
            codes: codes,
            hasher: passwordHasher, limits: limits, repetitions: repetitions, mailLanguages: mailLanguages, clock: clock
        )
        self.tickets = TicketLinking(
            tickets: tickets, store: stores.links, mailboxes: stores.mailboxTickets, issuer: issuer, sessions: sessions,
            passwords: passwords, emailCodes: emailCodes, repetitions: repetitions, mailLanguages: mailLanguages,
            metrics: metrics, clock: clock)
        if let web = configuration.web {
            self.web = WebSignIn(
                configuration: web,
                sessions: WebSessions(store: stores.webSessions, sessions: sessions, clock: clock),
                store: stores.webFlows, accounts: stores.accounts,
                credentials: WebCredentials(
                    providers: offered, codes: codeExchange, refusals: refusals, metrics: metrics),
                persons: ProvenPersons(providers: providers, passwords: passwords, emailCodes: emailCodes),
                tickets: tickets, linking: self.tickets, passwords: passwords, emailCodes: emailCodes, limits: limits,
                refusals: refusals, mailLanguages: mailLanguages, clock: clock, logger: logger)
        } else {
            self.web = nil
        }
        self.configuration = configuration
        self.accessTokens = accessTokens
        self.refusals = refusals
    }

    /// The origin under which a change by the client is recorded and mailed.
    package func origin(of client: Client) -> ChangeOrigin { mailLanguages.origin(of: client) }
}

/// Wrong secrets of those who call on behalf of others, such as clients of the OAuth server. A right one always passes.
package struct SecretGuesses: Sendable {
    let limits: RateLimiter

    /// Counts a wrong secret.
    ///
    /// - Throws: ``SignInFailure/rateLimited(_:retryAfter:)`` when the caller's network has used its allowance up.
    package func noteWrong(by client: Client) async throws(SignInFailure) {
        try await limits.drawNetworks(.guessPerNetwork, by: client)
    }
}
