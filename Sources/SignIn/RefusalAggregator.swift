package import Accounts
import JOSE
package import Storage
import Synchronization

/// The refusals on their way to the audit trail, counted in memory and written as sums, all at once: a flood of bad tokens
/// or passwords costs a few rows a second, and no refusal waits for a write. So are other events that repeat one of the
/// second before (``RepeatedEvents``).
///
/// Sums that a process has not yet written are lost when it is killed; a shutdown writes them.
package final class RefusalAggregator: Sendable {
    /// The number of sums that are kept per network between two flushes. Beyond it a sum covers all networks; there are no
    /// more of those than there are reasons, subjects that repeat something within a second, and disabled accounts whose
    /// password comes.
    package static let limit = 32
    /// The same of sums per address. Beyond it a sum covers all addresses.
    package static let addressLimit = 256
    /// Seconds by which a row's time may be before its writing, where sums could not be written: a row that is far behind
    /// its seal would look like one that was slipped in.
    private static let longestDelay: Int64 = 60

    private struct Subject: Hashable {
        let kind: AuditEvent.Kind
        let actor: AuditEvent.Actor
        let actorName: String?
        let provider: Provider?
        var accountID: AccountID?
        let identityID: IdentityID?
        let reason: String?
        var network: Network?
        /// The address whose account a guess was at. Whose it is, is looked up when the sums are written, so that no answer
        /// and no time depends on it; then it is forgotten.
        var address: EmailAddress?

        init(_ event: AuditEvent, at address: EmailAddress?) {
            self.address = address
            kind = event.kind
            actor = event.actor
            actorName = event.actorName
            provider = event.provider
            accountID = event.accountID
            identityID = event.identityID
            reason = event.reason
            network = event.network
        }
    }

    private struct Sum {
        var occurrences: Int32 = 1
        /// The request of the first occurrence: a person who was refused and asks for help can be found by it.
        private(set) var requestID: String?
        private var firstTime: Timestamp
        /// The session of a single occurrence; `nil` in a sum of several.
        var sessionID: SessionID?
        /// When it last occurred. The row has this time, so a refusal before a change doesn't appear after it.
        var time: Timestamp

        init(of event: AuditEvent, at time: Timestamp) {
            requestID = event.requestID
            sessionID = event.sessionID
            firstTime = time
            self.time = time
        }

        /// Sums of several addresses or networks come in no order.
        mutating func add(_ other: Sum) {
            let (total, overflows) = occurrences.addingReportingOverflow(other.occurrences)
            occurrences = overflows ? .max : total
            sessionID = nil
            if other.firstTime < firstTime { (firstTime, requestID) = (other.firstTime, other.requestID) }
            time = max(time, other.time)
        }
    }

    private struct Sums {
        private(set) var bySubject: [Subject: Sum] = [:]
        /// How many of them are of an address.
        private var addressed = 0

        mutating func add(_ sum: Sum, of subject: Subject) {
            var subject = subject
            if subject.address != nil, bySubject[subject] == nil, bySubject.count >= addressLimit {
                subject.address = nil
            }
            if subject.address == nil, bySubject[subject] == nil, bySubject.count - addressed >= limit {
                subject.network = nil
            }
            if bySubject[subject] == nil {
                bySubject[subject] = sum
                if subject.address != nil { addressed += 1 }
            } else {
                bySubject[subject]?.add(sum)
            }
        }
    }

    private let trail: AuditTrail
    private let clock: any WallClock
    private let sums = Mutex(Sums())

    package init(trail: AuditTrail, clock: any WallClock) {
        self.trail = trail
        self.clock = clock
    }

    /// Counts a refusal.
    ///
    /// - Parameter reason: one of our codes, never a client's text.
    package func note(_ kind: AuditEvent.Kind, provider: Provider? = nil, reason: String, by call: Call) {
        note(AuditEvent(kind, by: .person, in: call, provider: provider, reason: reason), at: clock.now())
    }

    /// Counts one occurrence of an event.
    ///
    /// - Parameter address: of the account that it is about, if there is one.
    package func note(_ event: AuditEvent, of address: EmailAddress? = nil, at now: Timestamp) {
        let sum = Sum(of: event, at: now)
        sums.withLock { $0.add(sum, of: Subject(event, at: address)) }
    }

    /// Writes the sums and resets them. If they can't be written, they are kept. So they are where it is unknown whether
    /// the database took them (``PostgresError/Code/outcomeUnknown``): the retry may then count them twice.
    ///
    /// - Returns: the number of rows.
    @discardableResult
    package func flush() async throws -> Int {
        let taken = sums.withLock { sums in
            let taken = sums
            sums = Sums()
            return taken
        }
        let earliest = clock.now().advanced(bySeconds: -RefusalAggregator.longestDelay)
        let owned: [Subject: Sum]
        do {
            owned = try await self.owned(taken.bySubject)
            try await trail.record(owned.map { (RefusalAggregator.event($0, $1), max($1.time, earliest)) })
        } catch {
            sums.withLock { sums in
                let newer = sums
                sums = taken
                for (subject, sum) in newer.bySubject { sums.add(sum, of: subject) }
            }
            throw error
        }
        return owned.count
    }

    /// The sums by account, where there is one with the address, and all others together.
    private func owned(_ sums: [Subject: Sum]) async throws -> [Subject: Sum] {
        let addresses = Set(sums.keys.compactMap(\.address))
        guard !addresses.isEmpty else { return sums }
        let owners = try await trail.accounts(with: Array(addresses))
        var owned: [Subject: Sum] = [:]
        for (subject, sum) in sums {
            var subject = subject
            if let address = subject.address { subject.accountID = owners[address] }
            subject.address = nil
            if owned[subject] == nil { owned[subject] = sum } else { owned[subject]?.add(sum) }
        }
        return owned
    }

    private static func event(_ subject: Subject, _ sum: Sum) -> AuditEvent {
        var event = AuditEvent(
            subject.kind, by: subject.actor, accountID: subject.accountID, identityID: subject.identityID,
            provider: subject.provider, reason: subject.reason, requestID: sum.requestID)
        event.actorName = subject.actorName
        event.sessionID = sum.sessionID
        event.network = subject.network
        event.occurrences = sum.occurrences
        return event
    }
}

extension RefusalAggregator {
    /// Runs the checks of a provider's credential, and notes the reason of a refusal.
    func notingRejection<Value>(
        of provider: Provider, by call: Call, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        do throws(SignInFailure) {
            return try await body()
        } catch {
            if case .credentialRejected(let reason, _) = error {
                note(.credentialRejected, provider: provider, reason: reason.rawValue, by: call)
            }
            throw error
        }
    }

    /// Runs what a right mailed code opens, and notes the refusal of an account that is disabled.
    ///
    /// - Parameter address: the one that the code was mailed to. Whose it is, is looked up when the sums are written.
    func notingDisabledAccount<Value>(
        with address: EmailAddress, by call: Call, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        do throws(SignInFailure) {
            return try await body()
        } catch {
            if case .accountDisabled = error { noteDisabledAccount(with: address, by: call) }
            throw error
        }
    }

    /// Notes a right proof of an account that is disabled.
    func noteDisabledAccount(_ id: AccountID? = nil, with address: EmailAddress? = nil, by call: Call) {
        let event = AuditEvent(.credentialRejected, by: .person, in: call, accountID: id, reason: "account_disabled")
        note(event, of: address, at: clock.now())
    }
}
