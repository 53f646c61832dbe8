import Accounts
import Administration
import Curl
import HTTPAPI
import HTTPServer
import Logging
import OAuthServer
import Providers
import SignIn
import Storage
import WebPages

/// The use cases under one configuration. A reload makes new ones; calls in progress finish with the old ones.
struct UseCases: Sendable {
    let configuration: ReloadableConfiguration
    private let resources: ServiceResources
    let signIn: SignInService
    /// Nil where it is off.
    let oauth: OAuthServer?
    let events: ProviderEvents
    let revocations: RevocationWorker
    let grantChecks: GrantCheckWorker
    let entrance: ConsoleEntrance
    let appleEndpoint: AppleTokenEndpoint?

    init(_ configuration: ReloadableConfiguration, _ resources: ServiceResources) {
        self.configuration = configuration
        self.resources = resources
        let (fetcher, logger, clock) = (resources.fetcher, resources.logger, resources.clock)
        let apple = configuration.apple.flatMap { apple in
            resources.appleKeys.map { AppleProvider(configuration: .init(apple), keys: .cache($0)) }
        }
        let google = configuration.google.map {
            GoogleProvider(configuration: .init($0), keys: .cache(resources.googleKeys))
        }
        let endpoints = TokenEndpoints(
            apple: AppleTokenEndpoint(configuration.apple, provider: apple, fetcher: fetcher, logger: logger),
            google: GoogleTokenEndpoint(configuration.google, provider: google, fetcher: fetcher, logger: logger))
        signIn = SignInService(
            configuration: .init(configuration, fixed: resources.configuration), apple: apple, google: google,
            endpoints: endpoints, resources: resources.signIn)
        let signIn = signIn
        oauth = configuration.oauth.map { oauth in
            OAuthServer(
                configuration: .init(oauth, fixed: resources.configuration), signIn: signIn,
                database: resources.database,
                google: google, clients: resources.oauthClients,
                metrics: resources.oauthMetrics,
                logger: logger)
        }
        events = ProviderEvents(
            apple: apple, google: google, policy: configuration.events, store: resources.database.providerEvents,
            backoff: resources.eventBackoff, clock: clock, logger: logger)
        revocations = RevocationWorker(
            store: resources.database.revocations, endpoints: endpoints, clock: clock, logger: logger)
        grantChecks = GrantCheckWorker(
            store: resources.database.grants, endpoints: endpoints, clock: clock, logger: logger)
        entrance = ConsoleEntrance(configuration.console, guesses: signIn.secretGuesses.ofConsole, resources)
        appleEndpoint = endpoints.apple
    }

    /// Of the providers that people, or the console's staff, sign in with.
    var keySets: [KeySetCache] { resources.keySets.filter { configuration.keysURL(of: $0.provider) != nil } }

    /// The providers whose keys come from elsewhere.
    var foreignKeys: Set<Provider> { Set(resources.configuration.with(configuration).foreignKeys.map(\.provider)) }

    var publicRoutes: [Route] {
        let mobile = MobileAPI(
            service: signIn, web: signIn.web, oauth: oauth, publicURL: resources.configuration.server.publicURL)
        return mobile.routes + EventsAPI(events: events).routes + webRoutes
            + (oauth.map { OAuthAPI(server: $0).routes } ?? []) + (configuration.oauth?.associations?.routes ?? [])
    }

    /// None where neither apps nor clients sign people in by the browser.
    private var webRoutes: [Route] {
        guard let web = signIn.web else { return [] }
        return WebAPI(
            signIn: web, accounts: signIn.accounts, emailCodes: signIn.emailCodes, oauth: oauth,
            flipPath: configuration.oauth?.associations == nil ? nil : configuration.oauth?.flipPath,
            theme: resources.configuration.pages, publicURL: resources.configuration.server.publicURL,
            relayPackages: configuration.web?.relayPackages ?? [:], calls: signIn.calls
        ).routes
    }
}

extension ConsoleEntrance {
    fileprivate init(_ configuration: ConsoleConfiguration, guesses: SecretGuesses, _ resources: ServiceResources) {
        let staff = configuration.google.map { google in
            StaffSignIn(
                .init(
                    clientID: ProviderClientID(google.clientID), hostedDomain: google.hostedDomain,
                    authorizeURL: google.authorizeURL,
                    issuers: google.issuers),
                secret: google.clientSecret, staff: google.staff, tokenURL: google.tokenURL,
                keys: .cache(resources.googleKeys), fetcher: resources.fetcher, logger: resources.logger)
        }
        self.init(staff: staff, acceptsKeys: configuration.acceptsKeys, guesses: guesses)
    }
}
