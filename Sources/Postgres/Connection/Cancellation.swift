/// The stopping of one statement: a request, and another one when the first came before the statement had begun.
///
///     request ──delivered──▶ pause 50 ms ──still running──▶ request … until 5 s are over: give the connection up
///         └──────────── statement answered and no request under way ────▶ over
struct Cancellation {
    enum Step {
        case wait
        case request
        case over
        case giveUp
    }

    private static let pause = Duration.milliseconds(50)
    /// A server that does not answer a cancel for so long is out of reach, and so are those waiting behind it.
    private static let acquireTimeout = Duration.seconds(5)

    private var target: Statement
    private var retryAt: ContinuousClock.Instant
    private var giveUpAt: ContinuousClock.Instant
    private var isRequestUnderWay = false

    init(of statement: Statement, at now: ContinuousClock.Instant) {
        target = statement
        retryAt = now
        giveUpAt = now + Self.acquireTimeout
    }

    /// When to look again; a request under way raises the signal when it is done.
    var deadline: ContinuousClock.Instant { isRequestUnderWay ? giveUpAt : min(retryAt, giveUpAt) }

    /// - Parameters:
    ///   - current: The statement that is to be stopped now, nil when none is.
    ///   - isDelivered: The last request has done what it could.
    mutating func step(towards current: Statement?, isDelivered: Bool, at now: ContinuousClock.Instant) -> Step {
        if isRequestUnderWay {
            guard isDelivered else { return now >= giveUpAt ? .giveUp : .wait }
            isRequestUnderWay = false
            retryAt = now + Self.pause
        }
        guard let current else { return .over }
        if current !== target {
            target = current
            retryAt = now
            giveUpAt = now + Self.acquireTimeout
        }
        if now >= giveUpAt { return .giveUp }
        guard now >= retryAt else { return .wait }
        isRequestUnderWay = true
        return .request
    }
}
