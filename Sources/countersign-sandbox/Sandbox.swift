import Curl
import HTTPTypes
import Hummingbird
import JSON
import Logging
import NIOCore

/// The stand-in's composition root: two providers, a receiver of webhooks, one clock, one fault plan, one history.
struct Sandbox: Sendable {
    struct Configuration: Sendable {
        var seed: String
        var appleIssuer: String
        var googleIssuer: String
        var keyStore: KeyStore
        /// For requests to a service whose accounts are linked.
        var fetcher: CurlFetcher
    }

    let configuration: Configuration
    let clock = SandboxClock()
    let faults = FaultPlan()
    let history: RequestHistory
    let appleKeys: ProviderKeys
    let appleAccounts: AppleAccounts
    let googleKeys: ProviderKeys
    let googleAccounts: GoogleAccounts
    let googleStream = GoogleEventStream()
    let googleLinking = GoogleLinking()
    let appleBrowser = BrowserPlan()
    let googleBrowser = BrowserPlan()
    let receiver: WebhookReceiver

    init(_ configuration: Configuration) {
        let seed = Seed(text: configuration.seed)
        self.configuration = configuration
        appleAccounts = AppleAccounts(seed: seed)
        googleAccounts = GoogleAccounts(seed: seed)
        history = RequestHistory(clock: clock)
        receiver = WebhookReceiver(clock: clock)
        appleKeys = ProviderKeys(
            profile: ProviderKeys.Profile(
                storeName: "apple", initialCount: 3, rotationLimit: 4, shuffles: true,
                // Apple documents no cache headers; an hour is what its verifiers commonly assume.
                cacheControl: "public, max-age=3600",
                makeID: { seed.alphanumeric(10, for: "apple.kid", String($0)) }),
            store: configuration.keyStore)
        googleKeys = ProviderKeys(
            profile: ProviderKeys.Profile(
                storeName: "google", initialCount: 2, rotationLimit: 3, shuffles: false,
                cacheControl: "public, max-age=21600, must-revalidate, no-transform",
                makeID: { seed.hexadecimal(40, for: "google.kid", String($0)) }),
            store: configuration.keyStore)
    }

    /// Restores the initial state: no persons, no faults, no history, the first keys, the system's time.
    func reset() {
        clock.followSystem()
        faults.clear()
        history.clear()
        appleKeys.reset()
        appleAccounts.reset()
        googleKeys.reset()
        googleAccounts.reset()
        googleStream.reset()
        googleLinking.reset()
        appleBrowser.reset()
        googleBrowser.reset()
        receiver.reset()
    }

    var router: Router<SandboxContext> {
        let router = Router(context: SandboxContext.self)
        router.add(middleware: HistoryMiddleware(history: history))
        router.add(middleware: FaultMiddleware(plan: faults, history: history))
        router.add(middleware: RefusalMiddleware(history: history))
        let apple = router.group("apple")
        AppleRoutes(keys: appleKeys, issuer: configuration.appleIssuer).add(to: apple)
        AppleEndpoints(accounts: appleAccounts, mint: appleMint, issuer: configuration.appleIssuer, clock: clock)
            .add(to: apple)
        AppleBrowser(
            accounts: appleAccounts, authorizer: appleAuthorizer, plan: appleBrowser, faults: faults, history: history
        ).add(to: apple)
        let google = router.group("google")
        GoogleRoutes(keys: googleKeys, issuer: configuration.googleIssuer).add(to: google)
        GoogleEndpoints(accounts: googleAccounts, mint: googleMint, issuer: configuration.googleIssuer, clock: clock)
            .add(to: google)
        GoogleStreamEndpoints(
            stream: googleStream, accounts: googleAccounts, notifier: googleNotifier, clock: clock
        ).add(to: google.group("v1beta"))
        GoogleBrowser(
            accounts: googleAccounts, authorizer: googleAuthorizer, plan: googleBrowser, faults: faults,
            history: history
        ).add(to: google)
        LinkingPage(linking: googleLinking, accounts: googleAccounts, runner: linkingRunner).add(to: google)
        receiverRoutes.add(to: router)
        addControls(to: router.group("control"))
        return router
    }

    private var appleMint: TokenMint { TokenMint(keys: appleKeys, type: nil, store: configuration.keyStore) }
    private var googleMint: TokenMint { TokenMint(keys: googleKeys, type: "JWT", store: configuration.keyStore) }

    private var appleAuthorizer: AppleAuthorizer {
        AppleAuthorizer(accounts: appleAccounts, mint: appleMint, issuer: configuration.appleIssuer, clock: clock)
    }

    private var googleAuthorizer: GoogleAuthorizer {
        GoogleAuthorizer(accounts: googleAccounts, mint: googleMint, issuer: configuration.googleIssuer, clock: clock)
    }

    private var googleNotifier: GoogleNotifier {
        GoogleNotifier(
            accounts: googleAccounts, mint: googleMint, issuer: configuration.googleIssuer, clock: clock)
    }

    private var linkingRunner: LinkingRunner {
        LinkingRunner(
            linking: googleLinking, accounts: googleAccounts, mint: googleMint, issuer: configuration.googleIssuer,
            clock: clock, fetcher: configuration.fetcher)
    }

    private var receiverRoutes: ReceiverRoutes { ReceiverRoutes(receiver: receiver, history: history) }

    private func addControls(to control: RouterGroup<SandboxContext>) {
        control.get { _, _ in overview() }
        control.post("reset") { request, _ in
            _ = try await request.members([])
            reset()
            return Response.done
        }
        ClockControl(clock: clock).add(to: control)
        FaultControl(plan: faults).add(to: control)
        HistoryControl(history: history).add(to: control)
        receiverRoutes.addControls(to: control)

        let apple = control.group("apple")
        KeyControl(keys: appleKeys).add(to: apple)
        AppleControl(accounts: appleAccounts, authorizer: appleAuthorizer, clock: clock).add(to: apple)
        BrowserControl(provider: .apple, plan: appleBrowser) { name throws(ControlRefusal) in
            _ = try appleAccounts.person(name)
        }.add(to: apple)
        AppleNotifier(accounts: appleAccounts, mint: appleMint, issuer: configuration.appleIssuer, clock: clock)
            .add(to: apple)

        let google = control.group("google")
        KeyControl(keys: googleKeys).add(to: google)
        GoogleControl(accounts: googleAccounts, authorizer: googleAuthorizer, clock: clock).add(to: google)
        BrowserControl(provider: .google, plan: googleBrowser) { name throws(ControlRefusal) in
            _ = try googleAccounts.person(name)
        }.add(to: google)
        googleNotifier.add(to: google)
        GoogleStreamControl(stream: googleStream).add(to: google)
        LinkingControl(linking: googleLinking, runner: linkingRunner).add(to: google)
    }

    private func overview() -> Response {
        .json { writer in
            writer.member("seed", configuration.seed)
            writer.member("now", Timestamp.text(clock.now))
            writer.member("appleIssuer", configuration.appleIssuer)
            writer.member("googleIssuer", configuration.googleIssuer)
        }
    }
}
