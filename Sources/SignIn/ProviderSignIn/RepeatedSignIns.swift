import Accounts
import Synchronization

/// Which sign-ins of one subject have a row of their own in the audit trail: one that comes within a second of the one
/// before has none, and is counted in a sum. So a token that is posted again and again writes a row a second, and each
/// sign-in is in one: the rows' `occurrences` say how many there were. A sum of one has the session and the request.
///
/// Each process decides by itself, from memory. The database would have to be asked, by a look at the trail for every
/// sign-in, or by a note in the identity's row, which the usual sign-in only reads, and for which all sign-ins of one
/// identity would wait. So several processes write as many rows a second as they are; and a process that is killed loses
/// the sums of a second, as of refusals, but no row of a sign-in that was the first: that is written with its session.
final class RepeatedSignIns: Sendable {
    /// Seconds within which a sign-in repeats the one before.
    private static let interval: Int64 = 1
    /// Seconds after which one that never ceases has a row of its own again. No sign-in goes on for longer without the
    /// trail, should that not be writable.
    private static let longest: Int64 = 60

    private struct Subject: Hashable {
        let key: IdentityKey
        let isLinked: Bool
    }

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

    init(refusals: RefusalAggregator) {
        self.refusals = refusals
    }

    /// Runs a sign-in, and counts it if it was to write no row.
    ///
    /// - Parameters:
    ///   - isLinked: whether it signs a known person in; else it gives a ticket.
    ///   - signIn: gets whether to record the sign-in. Returns what it has recorded or would have, `nil` if nothing
    ///     happened that is recorded.
    func recording<Answer: Sendable>(
        _ key: IdentityKey, isLinked: Bool, at now: Timestamp,
        _ signIn: (_ isRecorded: Bool) async throws(SignInFailure) -> (answer: Answer, event: AuditEvent?)
    ) async throws(SignInFailure) -> Answer {
        let subject = Subject(key: key, isLinked: isLinked)
        let isRepeated = note(subject, at: now)
        var event: AuditEvent?
        // Nothing was written: the next one is.
        defer { if !isRepeated, event == nil { state.withLock { $0.marks[subject] = nil } } }
        let outcome = try await signIn(!isRepeated)
        event = outcome.event
        if isRepeated, let event { refusals.note(event, at: now) }
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
                now < mark.recorded.advanced(bySeconds: RepeatedSignIns.longest)
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
