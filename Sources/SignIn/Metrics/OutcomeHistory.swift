package import Accounts
import JOSE
import Synchronization

/// The outcomes of this process's sign-ins by the minute, for the last hour.
package final class OutcomeHistory: Sendable {
    /// Minutes.
    package static let length = 60

    /// The outcomes of a minute.
    package struct Minute: Equatable, Sendable {
        /// Signed in, or offered to link.
        package fileprivate(set) var accepted = 0
        /// Refused, or failed for lack of a dependency, by the code of the reason.
        package fileprivate(set) var refused: [String: Int] = [:]
    }

    private struct State {
        /// By the number of the minute modulo ``length``.
        var minutes: [Minute]
        /// The number of the latest minute.
        var latest: Int
    }

    private let state: Mutex<State>
    /// The number of the current minute, from any origin.
    private let minute: @Sendable () -> Int
    /// The minute of the start.
    private let first: Int

    package convenience init() {
        let start = ContinuousClock.now
        self.init { Int((ContinuousClock.now - start).components.seconds / 60) }
    }

    init(minute: @escaping @Sendable () -> Int) {
        self.minute = minute
        let first = minute()
        self.first = first
        state = Mutex(State(minutes: Array(repeating: Minute(), count: Self.length), latest: first))
    }

    func count(_ outcomeLabel: OutcomeLabel) {
        update { minute in
            switch outcomeLabel.outcome {
            case .signedIn, .linkRequired, .linked, .refreshed: minute.accepted += 1
            case .refused, .unavailable: minute.refused[outcomeLabel.reason, default: 0] += 1
            }
        }
    }

    /// The minutes of the last hour, the current one last.
    package var minutes: [Minute] {
        update { _ in }
        return state.withLock { state in
            (1...Self.length).map { state.minutes[(state.latest + $0) % Self.length] }
        }
    }

    /// The number of minutes since the start, at least one and at most ``length``: what a rate is divided by.
    package var elapsed: Int { min(Self.length, max(1, minute() - first)) }

    /// The kind of row that the audit trail has of sign-ins refused for this reason; `nil` where it has none.
    package static func auditKind(ofReason reason: String) -> AuditEvent.Kind? {
        if LimitKind(rawValue: reason) != nil { return .rateLimited }
        switch reason {
        case "invalid_credentials": return .guessRejected
        case "account_disabled": return .credentialRejected
        default:
            // Without keys nothing was checked, so nothing was rejected.
            guard let rejection = TokenRejection(rawValue: reason), rejection != .keysUnavailable else { return nil }
            return .credentialRejected
        }
    }

    private func update(_ change: (inout Minute) -> Void) {
        let now = minute()
        state.withLock { state in
            // Minutes in which nothing was counted.
            if now > state.latest {
                for skipped in max(state.latest + 1, now - Self.length + 1)...now {
                    state.minutes[skipped % Self.length] = Minute()
                }
                state.latest = now
            }
            change(&state.minutes[state.latest % Self.length])
        }
    }
}
