import Accounts
import SignIn
import Synchronization

/// A session as its phone knows it.
struct WalkSession: Sendable {
    let id: SessionID
    let accountID: AccountID
    let bearer: [UInt8]
    /// The newest last, after some of the older ones, which may be presented once more.
    var refreshTokens: [String]
}

/// A change that was answered as done, and the kinds of audit record that the call may have left.
struct WalkChange: Sendable {
    let requestID: String
    /// One of them has to be in the trail.
    let kinds: [AuditEvent.Kind]
}

/// The sessions, tickets and tokens of the walkers, and the answers that they got: shared, because any walker may try
/// any of them.
final class WalkMemory: Sendable {
    struct State: Sendable {
        var sessions: [WalkSession] = []
        var tickets: [String] = []
        /// The identities that the person of a ticket has seen in the accounts that were shown to them.
        var shown: [String: Set<IdentityID>] = [:]
        /// The addresses of the tickets of readers of a mailbox.
        var mailboxes: [String: String] = [:]
        /// The mailboxes that the person of an identity's ticket has read a code in.
        var read: [String: Set<String>] = [:]
        /// The refresh tokens of clients that are linked.
        var clientTokens: [String] = []
        /// Accounts that an operator has disabled.
        var disabled: [AccountID] = []
        /// Provider tokens to post once more.
        var tokens: [(provider: Provider, token: String)] = []
        /// How often each ticket and code led to a success. More than once is never right.
        var ticketSuccesses: [String: Int] = [:]
        var codeSuccesses: [EmailCodeID: Int] = [:]
        /// What is not checked yet.
        var report = WalkReport()
        var outcomes: [String: Int] = [:]
        var events = 0
    }

    private let state = Mutex(State())

    func read<Value: Sendable>(_ body: (State) -> Value) -> Value { state.withLock { body($0) } }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    func forget(session id: SessionID) { state.withLock { $0.sessions.removeAll { $0.id == id } } }

    func note(fault: String) { state.withLock { $0.report.faults.append(fault) } }

    /// A provider that runs the mailbox has stated the subject's address.
    func note(claim email: String, of subject: String) {
        state.withLock { _ = $0.report.claims.insert(WalkReport.Claim(subject: subject, email: email)) }
    }

    /// The call has used a code that was mailed to the address, in an account or to enter one.
    func note(code email: String, by requestID: String) {
        state.withLock { $0.report.codes.append(WalkReport.Code(requestID: requestID, email: email)) }
    }

    func note(_ entry: WalkReport.Entry) { state.withLock { $0.report.entries.append(entry) } }

    func note(_ voucher: WalkReport.Voucher) { state.withLock { _ = $0.report.vouchers.insert(voucher) } }

    func note(outcome: String) { state.withLock { $0.outcomes[outcome, default: 0] += 1 } }

    func note(_ kinds: AuditEvent.Kind..., by requestID: String) {
        state.withLock { $0.report.changes.append(WalkChange(requestID: requestID, kinds: kinds)) }
    }

    /// The number of sessions that are kept; of tickets and of tokens it is half. Few, so that most attempts can succeed.
    private static let kept = 24

    func remember(_ signedIn: SignedIn) {
        state.withLock {
            $0.sessions.append(
                WalkSession(
                    id: signedIn.session.id, accountID: signedIn.account.id, bearer: signedIn.session.bearer,
                    refreshTokens: [signedIn.session.refreshToken]), keeping: WalkMemory.kept)
        }
    }

    /// The ticket has opened a session: that of an identity by linking it.
    func remember(_ signedIn: SignedIn, by ticket: String) {
        if signedIn.identity == nil, read({ $0.mailboxes[ticket] }) == nil {
            note(fault: "an identity's ticket has signed in without it")
        }
        remember(signedIn)
    }

    func remember(_ required: LinkRequired) {
        state.withLock {
            $0.tickets.append(required.linkTicket, keeping: WalkMemory.kept / 2)
            if case .mailbox(let email) = required.person { $0.mailboxes[required.linkTicket] = email.text }
        }
        remember(shown: required)
    }

    /// The ticket's person is about to type a code that was mailed to the address: it may make the ticket a proof of it.
    func remember(_ address: String, readWith ticket: String) {
        state.withLock { _ = $0.read[ticket, default: []].insert(address) }
    }

    /// The ticket's person sees an account with its identities.
    func remember(shown required: LinkRequired) {
        guard let holder = required.holder, holder.showsIdentities else { return }
        state.withLock { $0.shown[required.linkTicket, default: []].formUnion(holder.account.identities.map(\.id)) }
    }

    func remember(_ token: String, of provider: Provider) {
        state.withLock { $0.tokens.append((provider, token), keeping: WalkMemory.kept / 2) }
    }

    func remember(clientToken: String) {
        state.withLock { $0.clientTokens.append(clientToken, keeping: WalkMemory.kept / 2) }
    }

    func remember(refreshToken: String, of id: SessionID) {
        state.withLock { state in
            guard let index = state.sessions.firstIndex(where: { $0.id == id }) else { return }
            state.sessions[index].refreshTokens.append(refreshToken, keeping: 4)
        }
    }

    /// A create or bind by the ticket has succeeded.
    func spent(ticket: String) {
        state.withLock {
            $0.ticketSuccesses[ticket, default: 0] += 1
            if $0.ticketSuccesses[ticket] == 2 { $0.report.faults.append("a ticket was used twice") }
        }
    }

    func used(code id: EmailCodeID) {
        state.withLock {
            $0.codeSuccesses[id, default: 0] += 1
            if $0.codeSuccesses[id] == 2 { $0.report.faults.append("a mailed code was accepted twice") }
        }
    }

    func nextEventNumber() -> Int {
        state.withLock {
            $0.events += 1
            return $0.events
        }
    }

    /// Takes what was noted since the last call.
    func takeReport() -> WalkReport {
        state.withLock { state in
            var report = state.report
            for (index, entry) in report.entries.enumerated() {
                guard let ticket = entry.ticket else { continue }
                report.entries[index].shown = Array(state.shown[ticket] ?? [])
            }
            let tickets = Set(state.tickets)
            state.shown = state.shown.filter { tickets.contains($0.key) }
            state.mailboxes = state.mailboxes.filter { tickets.contains($0.key) }
            state.read = state.read.filter { tickets.contains($0.key) }
            state.report = WalkReport()
            return report
        }
    }
}

extension Array {
    /// Appends an element, and forgets the oldest where there are more than `count`.
    fileprivate mutating func append(_ element: Element, keeping count: Int) {
        append(element)
        if self.count > count { removeFirst() }
    }
}
