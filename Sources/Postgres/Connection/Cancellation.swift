/// The cancellation of one statement on a leased connection: a cancel request, and another one when the first arrived
/// before the statement had begun.
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
    /// How long a cancelled statement may go on. After that the server counts as out of reach, and the connection is
    /// given up: the transaction's ROLLBACK waits behind.
    private static let timeout = Duration.seconds(5)

    private var target: Statement
    private var retryAt: ContinuousClock.Instant
    private var giveUpAt: ContinuousClock.Instant
    private var isRequestUnderWay = false

    init(of statement: Statement, at now: ContinuousClock.Instant) {
        target = statement
        retryAt = now
        giveUpAt = now + Self.timeout
    }

    /// When the next step is due; a request under way raises the signal when it is done.
    var deadline: ContinuousClock.Instant { isRequestUnderWay ? giveUpAt : min(retryAt, giveUpAt) }

    /// - Parameters:
    ///   - current: The statement that is to be stopped now, nil when none is.
    ///   - isDelivered: Whether the last request is over: it reached the server, or failed.
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
            giveUpAt = now + Self.timeout
        }
        if now >= giveUpAt { return .giveUp }
        guard now >= retryAt else { return .wait }
        isRequestUnderWay = true
        return .request
    }
}
