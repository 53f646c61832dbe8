package import Accounts
import JOSE
package import Storage
import Synchronization

/// The refusals on their way to the audit trail, counted in memory and written as sums, all at once: a flood of bad tokens
/// or passwords costs a few rows a second, and no refusal waits for a write.
///
/// Sums that a process has not yet written are lost when it is killed; a shutdown writes them.
package final class RefusalAggregator: Sendable {
    /// The number of sums that are kept per network between two flushes. Beyond it a sum covers all networks; there are no
    /// more of those than there are reasons.
    package static let limit = 32

    private struct Refusal: Hashable {
        let kind: AuditEvent.Kind
        let provider: Provider?
        let reason: String
        let network: String?
    }

    private struct Sum {
        var occurrences: Int32
        /// The request of a single refusal; `nil` in a sum of several.
        var requestID: String?
    }

    private let trail: AuditTrail
    private let clock: any WallClock
    private let sums = Mutex<[Refusal: Sum]>([:])

    package init(trail: AuditTrail, clock: any WallClock) {
        self.trail = trail
        self.clock = clock
    }

    /// Counts a refusal.
    ///
    /// - Parameter reason: one of our codes, never a client's text.
    package func note(
        _ kind: AuditEvent.Kind, provider: Provider? = nil, reason: String, network: String?, requestID: String
    ) {
        let refusal = Refusal(kind: kind, provider: provider, reason: reason, network: network)
        sums.withLock { RefusalAggregator.add(Sum(occurrences: 1, requestID: requestID), of: refusal, to: &$0) }
    }

    /// Writes the sums and resets them. If they can't be written, they are kept.
    ///
    /// - Returns: the number of sums.
    @discardableResult
    package func flush() async throws -> Int {
        let taken = sums.withLock { sums in
            let taken = sums
            sums = [:]
            return taken
        }
        do {
            try await trail.record(taken.map { RefusalAggregator.event($0, $1) }, at: clock.now())
        } catch {
            sums.withLock { sums in
                let newer = sums
                sums = taken
                for (refusal, sum) in newer { RefusalAggregator.add(sum, of: refusal, to: &sums) }
            }
            throw error
        }
        return taken.count
    }

    private static func add(_ sum: Sum, of refusal: Refusal, to sums: inout [Refusal: Sum]) {
        var refusal = refusal
        if sums[refusal] == nil, sums.count >= limit {
            refusal = Refusal(kind: refusal.kind, provider: refusal.provider, reason: refusal.reason, network: nil)
        }
        guard let counted = sums[refusal] else {
            sums[refusal] = sum
            return
        }
        let (total, overflows) = counted.occurrences.addingReportingOverflow(sum.occurrences)
        sums[refusal] = Sum(occurrences: overflows ? .max : total, requestID: nil)
    }

    private static func event(_ refusal: Refusal, _ sum: Sum) -> AuditEvent {
        var event = AuditEvent(
            refusal.kind, by: .person, provider: refusal.provider, reason: refusal.reason, requestID: sum.requestID)
        event.network = refusal.network
        event.occurrences = sum.occurrences
        return event
    }
}

extension RefusalAggregator {
    /// Runs the checks of a provider's credential, and notes the reason of a refusal.
    func notingRejection<Value>(
        of provider: Provider, by client: Client, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        do throws(SignInFailure) {
            return try await body()
        } catch {
            if case .credentialRejected(let reason, _) = error {
                note(
                    .credentialRejected, provider: provider, reason: reason.rawValue, network: client.network,
                    requestID: client.requestID)
            }
            throw error
        }
    }
}
