import Accounts
import Synchronization

/// Which of the events that one subject can cause again and again have a row of their own in the audit trail: one that
/// comes within a second of the one before has none, and is counted in a sum. So a token that is posted again and again, or
/// a name that is changed without end, writes a row a second, and each time is in one: the rows' `occurrences` say how
/// often it happened. A sum of one is a row like any other.
///
/// Each process decides by itself, from memory, so `n` processes write up to `n` rows a second. The database would have to
/// be asked, by a look at the trail for every sign-in, or by a note in the identity's row, which the usual sign-in only
/// reads, and for which all sign-ins of one identity would wait. A process that is killed loses the sums of a second, as of
/// refusals, but no row of an event that was the first: that is written with what it records.
final class RepeatedEvents: Sendable {
    /// Whose event of which kind.
    enum Subject: Hashable {
        /// A sign-in by a linked identity, or its refusal.
        case signIn(IdentityKey)
        /// A ticket for an identity that is not linked.
        case linkTicket(IdentityKey)
        case cancelledTicket(IdentityKey)
        /// A code that the provider refused beside a good token.
        case refusedCode(IdentityKey)
        case displayName(AccountID)
        /// Of one scope, so that the first sign-out everywhere is never counted with others of its session alone.
        case signOut(AccountID, RevocationScope?)
    }

    /// Seconds within which an event repeats the one before.
    private static let interval: Int64 = 1
    /// Seconds after which one that never ceases has a row of its own again. Nothing goes on for longer without the trail,
    /// should that not be writable.
    private static let longest: Int64 = 60

    private struct Mark {
        var seen: Timestamp
        var recorded: Timestamp

        func isRecent(at now: Timestamp) -> Bool {
            now < seen.advanced(bySeconds: interval) && seen < now.advanced(bySeconds: interval)
        }
    }

    private struct State {
        var marks: [Subject: Mark] = [:]
        var pruned = Timestamp(seconds: 0)
    }

    private let refusals: RefusalAggregator
    private let state = Mutex(State())

    init(refusals: RefusalAggregator) { self.refusals = refusals }

    /// Runs what causes an event, and counts the event if it was to write no row.
    ///
    /// - Parameter change: gets whether to record it. Returns what it has recorded or would have, `nil` if nothing happened
    ///   that is recorded.
    func recording<Answer: Sendable>(
        _ subject: Subject, by call: Call,
        _ change: (_ isRecorded: Bool) async throws(SignInFailure) -> (answer: Answer, event: AuditEvent?)
    ) async throws(SignInFailure) -> Answer {
        let isRepeated = note(subject, at: call.now)
        var event: AuditEvent?
        // Nothing was written: the next one is.
        defer { if !isRepeated, event == nil { state.withLock { $0.marks[subject] = nil } } }
        let outcome = try await change(!isRepeated)
        event = outcome.event
        if isRepeated, let event { refusals.note(event, at: call.now) }
        return outcome.answer
    }

    /// - Returns: whether the subject was there within the second before.
    private func note(_ subject: Subject, at now: Timestamp) -> Bool {
        state.withLock { state in
            if !Mark(seen: state.pruned, recorded: now).isRecent(at: now) {
                state.marks = state.marks.filter { $0.value.isRecent(at: now) }
                state.pruned = now
            }
            guard var mark = state.marks[subject], mark.isRecent(at: now),
                now < mark.recorded.advanced(bySeconds: RepeatedEvents.longest)
            else {
                state.marks[subject] = Mark(seen: now, recorded: now)
                return false
            }
            mark.seen = max(mark.seen, now)
            state.marks[subject] = mark
            return true
        }
    }
}
