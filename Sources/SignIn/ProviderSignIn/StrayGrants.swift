package import Accounts
package import Logging
import Metrics
package import Storage
import Synchronization

/// The grants of codes that were exchanged while the database took nothing: no ticket and no identity holds them, and the
/// person's authorization would stay alive at the provider. They are kept in memory, and ended when the database is back.
///
/// ```
///   keep ──▶ waiting ──round──▶ ended: revoked; attached to the person's identity or ticket; or erased, where they have another
///               ▲                 │
///               └── pause: 1, 2, 4 … 60 s while the database takes nothing
/// ```
///
/// Nothing else is durable that a process can be sure to have: a file would be a store of refresh tokens of its own, on a
/// disk that a container lacks or loses, for a process that may never start there again. So a process that is killed loses
/// them: the person sees the app among those that they have authorized, and it ends with the next revocation for them. So
/// does a shutdown that waits in vain for the database, which logs how many they were.
package final class StrayGrants: Sendable {
    /// More than an outage leaves: a person who is answered 503 has used up a code of theirs.
    package static let limit = 1_000
    private static let longestPause: Int64 = 60
    /// How long a shutdown waits for the database: what a failover may yet take, and less than is left when the last request
    /// has been answered (`ShutdownLimit`), since the last attempt may wait for a connection besides.
    package static let shutdownTimeout = Duration.seconds(2)

    private struct Stray: Sendable {
        let grant: NewGrant
        let key: IdentityKey
        let isAttachable: Bool
        let event: AuditEvent
    }

    private struct State {
        var waiting: [Stray] = []
        var pause: Int64 = 1
        var nextRound = ContinuousClock.now
        var isRoundUnderWay = false
        /// Until when ``StrayGrants/endAll(timeout:)`` tries: the latest of what its callers ask for.
        var lastDeadline: ContinuousClock.Instant?
        var isLossLogged = false

        /// Whether something waits, and is tried once more or just now.
        var isEnding: Bool {
            !waiting.isEmpty && (isRoundUnderWay || lastDeadline.map { ContinuousClock.now < $0 } ?? false)
        }
    }

    private let store: RevocationStore
    private let clock: any WallClock
    private let logger: Logger
    private let gauge = Gauge(label: "countersign_stray_grants")
    private let state = Mutex(State())

    package init(store: RevocationStore, clock: any WallClock, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
        gauge.record(0)
    }

    package var count: Int { state.withLock(\.waiting.count) }

    /// Keeps a grant until it can be ended. Asks for nothing now: the database has just refused.
    ///
    /// - Parameters:
    ///   - isAttachable: whether an identity or a ticket that its person has by then may get it: nothing was wrong with the
    ///     sign-in.
    ///   - event: recorded with the revocation.
    func keep(_ grant: NewGrant, of key: IdentityKey, isAttachable: Bool, recording event: AuditEvent) {
        let stray = Stray(grant: grant, key: key, isAttachable: isAttachable, event: event)
        let isKept = state.withLock { state in
            guard state.waiting.count < StrayGrants.limit else { return false }
            state.waiting.append(stray)
            return true
        }
        gauge.record(count)
        if isKept {
            logger.warning("stray grant kept until the database is back", metadata: Self.metadata(stray))
        } else {
            logger.error("stray grant lost, too many wait", metadata: Self.metadata(stray))
        }
    }

    /// Ends what waits, if the pause is over. Ends the round with the first one that the database doesn't take.
    package func endDue() async {
        guard state.withLock({ !$0.waiting.isEmpty && $0.nextRound <= .now }) else { return }
        await endAsFarAsPossible()
    }

    /// The last rounds, at a shutdown, whatever the pause: until nothing waits, or the time of all callers is over and no round
    /// is under way any more. Of several callers one logs what is lost.
    package func endAll(timeout: Duration = shutdownTimeout) async {
        let deadline = ContinuousClock.now + timeout
        state.withLock { $0.lastDeadline = max($0.lastDeadline ?? deadline, deadline) }
        await endAsFarAsPossible()
        // A task that has been cancelled can't wait.
        while state.withLock(\.isEnding), (try? await Task.sleep(for: .milliseconds(200))) != nil {
            if state.withLock(\.isEnding) { await endAsFarAsPossible() }
        }
        let lost = state.withLock { state in
            guard !state.isLossLogged else { return 0 }
            state.isLossLogged = !state.waiting.isEmpty
            return state.waiting.count
        }
        guard lost > 0 else { return }
        logger.error("stray grants lost, the database is away", metadata: ["count": "\(lost)"])
    }

    /// Where it is unknown whether the database took one, it is ended again in the next round. A second revocation of the
    /// same grant is harmless: the provider no longer knows the token, and a person who has come again keeps theirs.
    private func endAsFarAsPossible() async {
        // One round runs at a time, though a shutdown may not wait for the last one before it. Others only append: the
        // first one is the same until it is removed here.
        let isAlone = state.withLock { state in
            defer { state.isRoundUnderWay = true }
            return !state.isRoundUnderWay
        }
        guard isAlone else { return }
        defer { state.withLock { $0.isRoundUnderWay = false } }
        while let stray = state.withLock(\.waiting.first) {
            do {
                try await store.end(
                    stray.grant, of: stray.key, isAttachable: stray.isAttachable, recording: stray.event,
                    by: clock.call(by: .service))
            } catch {
                let failure = StorageFailure(error)
                guard !failure.isTemporary else { return pause() }
                // It would keep all behind it waiting.
                logger.error(
                    "stray grant lost",
                    metadata: Self.metadata(stray).merging(["error": "\(failure.debugDescription)"]) { $1 })
            }
            state.withLock { state in
                state.waiting.removeFirst()
                state.pause = 1
            }
            gauge.record(count)
        }
    }

    private func pause() {
        state.withLock { state in
            state.nextRound = .now + .seconds(state.pause)
            state.pause = min(state.pause * 2, StrayGrants.longestPause)
        }
    }

    private static func metadata(_ stray: Stray) -> Logger.Metadata { ["provider": "\(stray.key.provider.rawValue)"] }
}
