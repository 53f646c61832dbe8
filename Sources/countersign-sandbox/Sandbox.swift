import Curl
import HTTPTypes
import Hummingbird

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
    let apple: Provider<Apple>
    let google: Provider<Google>
    let googleLinking = GoogleLinking()
    let receiver: WebhookReceiver

    init(_ configuration: Configuration) {
        let seed = Seed(text: configuration.seed)
        self.configuration = configuration
        history = RequestHistory(clock: clock)
        receiver = WebhookReceiver(clock: clock)
        apple = Provider(
            issuer: configuration.appleIssuer, seed: seed, store: configuration.keyStore, clock: clock,
            faults: faults, history: history)
        google = Provider(
            issuer: configuration.googleIssuer, seed: seed, store: configuration.keyStore, clock: clock,
            faults: faults, history: history)
    }

    /// Restores the initial state: no persons, no faults, no history, the first keys, the system's time.
    func reset() {
        clock.followSystem()
        faults.clear()
        history.clear()
        apple.reset()
        google.reset()
        googleLinking.reset()
        receiver.reset()
    }

    var router: Router<SandboxContext> {
        let router = Router(context: SandboxContext.self)
        router.add(middleware: HistoryMiddleware(history: history))
        router.add(middleware: FaultMiddleware(plan: faults, history: history))
        router.add(middleware: RefusalMiddleware(history: history))
        apple.addPage(to: router)
        apple.addDocuments(to: router.group("apple"))
        apple.addEndpoints(to: router.group("apple"))
        google.addPage(to: router)
        let group = router.group("google")
        google.addDocuments(to: group)
        google.addEndpoints(to: group)
        GoogleStreamEndpoints(google: google).add(to: group)
        LinkingPage(linking: googleLinking, runner: linkingRunner).add(to: group)
        receiverRoutes.add(to: router)
        addControls(to: router.group("control"))
        return router
    }

    private var linkingRunner: LinkingRunner {
        LinkingRunner(linking: googleLinking, google: google, fetcher: configuration.fetcher)
    }

    private var receiverRoutes: ReceiverRoutes { ReceiverRoutes(receiver: receiver, history: history) }

    private func addControls(to control: RouterGroup<SandboxContext>) {
        control.get { _, _ in overview() }
        control.post("reset") { request, _ in
            try await request.emptyBody()
            reset()
            return Response.done
        }
        ClockControl(clock: clock).add(to: control)
        FaultControl(plan: faults).add(to: control)
        HistoryControl(history: history).add(to: control)
        receiverRoutes.addControls(to: control)
        apple.addAppleControls(to: control.group("apple"))
        apple.addEvents(to: control.group("apple"))
        let group = control.group("google")
        google.addGoogleControls(to: group)
        google.addEvents(to: group)
        google.addStreamControls(to: group)
        LinkingControl(linking: googleLinking, runner: linkingRunner).add(to: group)
    }

    private func overview() -> Response {
        .json([
            "seed": configuration.seed, "now": Timestamp.text(clock.now), "appleIssuer": configuration.appleIssuer,
            "googleIssuer": configuration.googleIssuer,
        ])
    }
}
