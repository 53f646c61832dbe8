public import Foundation

/// The steps of one sign-in as a value that a view can show. It sends nothing: the app calls the client and gives the flow
/// what came of it.
///
/// ```
/// idle ─▶ verifying ─▶ signedIn
///             │
///             └▶ choosing ─▶ creating ─▶ signedIn
///                  │  ▲ ▲────── failed, holder
///                  │  └────── keep ─────┐
///                  └──▶ binding ─▶ conflict ─▶ replacing ─▶ signedIn
/// ```
///
/// A ticket that has expired leads back to `idle` from everywhere, and `abandon` to `abandoned`. To `idle` leads a call with
/// it, too, of which no answer came: it may have been done, and is not sent again. The next sign-in says what came of it.
///
/// To prove an account, a person who chooses may sign in to it: `begin` keeps the ``ticket``. A failure leads back to
/// `choosing`, and so does signing out; from `signedIn` the ticket is bound by the session (`bind`), or given up (`abandon`).
public struct SignInFlow: Sendable, Equatable {
    public enum Step: Sendable, Equatable {
        case idle
        /// A credential is with the server.
        case verifying
        /// The person chooses.
        case choosing(LinkTicket)
        case creating(LinkTicket)
        case binding(LinkTicket)
        /// The account has another identity of this provider: replace it, or keep it.
        case conflict(LinkTicket, maskedEmail: String?)
        case replacing(LinkTicket, maskedEmail: String?)
        case signedIn(ClientAccount)
        /// The person gave up. The app calls `cancel` with the ticket.
        case abandoned
    }

    public enum Event: Sendable {
        /// A credential is about to be sent.
        case begin
        case signIn(SignInOutcome)
        /// The person has chosen, and the call is about to be made.
        case create
        case bind
        case replace
        /// The person keeps the identity that the account has, and chooses again.
        case keep
        case created(ClientAccount)
        case bound(BindOutcome)
        case failed(SessionError)
        case abandon
        /// The clock, so that tickets expire. Where the phone's may be wrong, leave it out: the server refuses a ticket that
        /// has expired.
        case time(Date)
        /// The client has no session any more.
        case signedOut
    }

    public private(set) var step = Step.idle
    /// Why the last call did not succeed; nil again with the next step.
    public private(set) var problem: SessionError?
    /// The ticket for which the person signs in to an account of theirs, or has.
    private var proving: LinkTicket?

    public init() {}

    /// Goes on with a ticket that was kept while the app was closed.
    public init(_ ticket: LinkTicket) { step = .choosing(ticket) }

    /// The ticket of the step, if it has one.
    public var ticket: LinkTicket? {
        switch step {
        case .choosing(let ticket), .creating(let ticket), .binding(let ticket), .conflict(let ticket, _),
            .replacing(let ticket, _):
            ticket
        case .verifying, .signedIn: proving
        case .idle, .abandoned: nil
        }
    }

    /// Whether an answer of the server is waited for.
    public var isWaiting: Bool {
        switch step {
        case .verifying, .creating, .binding, .replacing: true
        case .idle, .choosing, .conflict, .signedIn, .abandoned: false
        }
    }

    /// Takes the next step.
    ///
    /// - Returns: false for an event that does not belong to the step, such as the answer to a call that was given up: it
    ///   changes nothing.
    @discardableResult
    public mutating func apply(_ event: Event) -> Bool {
        if case .failed(let error) = event { return fail(error) }
        if case .time(let now) = event { return expire(now) }
        guard let next = next(event) else { return false }
        switch (step, next) {
        case (_, .verifying), (.verifying, .signedIn): proving = ticket
        default: proving = nil
        }
        step = next
        problem = nil
        return true
    }

    private func next(_ event: Event) -> Step? {
        switch (step, event) {
        case (.idle, .begin), (.signedIn, .begin), (.abandoned, .begin), (.choosing, .begin): .verifying
        case (.verifying, .signIn(.signedIn(let account))): .signedIn(account)
        case (.verifying, .signIn(.linkRequired(let ticket))): .choosing(ticket)
        case (.choosing(let ticket), .create): .creating(ticket)
        case (.choosing(let ticket), .bind): .binding(ticket)
        case (.signedIn, .bind): proving.map(Step.binding)
        case (.signedIn(let account), .abandon): proving.map { _ in Step.signedIn(account) }
        case (.creating, .created(let account)): .signedIn(account)
        case (.binding, .bound(.signedIn(let account))), (.replacing, .bound(.signedIn(let account))):
            .signedIn(account)
        case (.binding, .bound(.holder(let ticket))), (.replacing, .bound(.holder(let ticket))): .choosing(ticket)
        case (.binding(let ticket), .bound(.conflict(let email))),
            (.replacing(let ticket, _), .bound(.conflict(let email))):
            .conflict(ticket, maskedEmail: email)
        case (.conflict(let ticket, let email), .replace): .replacing(ticket, maskedEmail: email)
        case (.conflict(let ticket, _), .keep): .choosing(ticket)
        case (.verifying, .abandon), (.choosing, .abandon), (.creating, .abandon), (.binding, .abandon),
            (.conflict, .abandon), (.replacing, .abandon):
            .abandoned
        case (.signedIn, .signedOut): proving.map(Step.choosing) ?? Step.idle
        default: nil
        }
    }

    private mutating func fail(_ error: SessionError) -> Bool {
        guard isWaiting else { return false }
        defer { proving = nil }
        switch (step, error) {
        case (_, .refused("link_ticket_expired", _, _)), (_, .refused("identity_already_linked", _, _)):
            step = .idle
        case (.verifying, _): step = proving.map(Step.choosing) ?? .idle
        // The call may have been done. Then the ticket is spent, or, after a mailed code, proves an account that the person
        // has not been shown.
        case (_, .transient), (_, .cancelled), (_, .storage): step = .idle
        case (.creating(let ticket), _), (.binding(let ticket), _): step = .choosing(ticket)
        case (.replacing(let ticket, let email), _): step = .conflict(ticket, maskedEmail: email)
        default: return false
        }
        problem = error == .cancelled ? nil : error
        return true
    }

    /// A call under way is left alone: the server answers it.
    private mutating func expire(_ now: Date) -> Bool {
        guard !isWaiting, let ticket, ticket.expiresAt <= now else { return false }
        // Who is signed in stays so.
        if proving == nil { step = .idle }
        proving = nil
        problem = .refused(code: "link_ticket_expired", status: 0)
        return true
    }
}
