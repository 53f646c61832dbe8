import Foundation

extension SignInClient {
    /// Makes an account for the ticket's person.
    ///
    /// - Parameter displayName: goes before the name that the provider gave.
    /// - Throws: `refused("email_taken", 409)`, and the ticket stays good; `refused("identity_already_linked", 409)`;
    ///   `refused("link_ticket_expired", 410)` for one that is unknown, used or expired: sign in again. So too after
    ///   `transient`, and don't repeat the call: it may have been done.
    public func create(_ ticket: LinkTicket, displayName: String? = nil) async throws(SessionError) -> ClientAccount {
        try await create(ticket, displayName, nil)
    }

    /// Makes an account with a password for the reader of a mailbox, whose ticket came of a mailed code.
    ///
    /// - Throws: as without one, and `refused("weak_password", 400)`; `refused("invalid_request", 400)` for a ticket of a
    ///   provider's.
    public func create(
        _ ticket: LinkTicket, displayName: String? = nil, password: String
    ) async throws(SessionError) -> ClientAccount {
        try await create(ticket, displayName, password)
    }

    private func create(
        _ ticket: LinkTicket, _ displayName: String?, _ password: String?
    ) async throws(SessionError) -> ClientAccount {
        begin()
        var body: [String: JSONValue] = ["linkTicket": .string(ticket.value)]
        body["displayName"] = displayName.map(JSONValue.string)
        body["password"] = password.map(JSONValue.string)
        let sentAt = now()
        return try openMade(try await server.send("v1/links/create", body), sentAt: sentAt)
    }

    /// Links the ticket's identity to an account that its person shows to be theirs.
    ///
    /// - Parameter replacing: unlinks the account's other identity of this provider, which a `conflict` has shown.
    /// - Throws: `refused("invalid_credentials", 401)` for a wrong proof, `refused("reauthentication_required", 403)` for
    ///   a session that is too old, and the ticket stays good; `refused("link_ticket_expired", 410)`; `noSession`. After
    ///   `transient` sign in again, and don't repeat the call: after a mailed code it would bind to an account that the
    ///   person has not been shown.
    public func bind(
        _ ticket: LinkTicket, proof: BindProof, replacing: Bool = false
    ) async throws(SessionError) -> BindOutcome {
        begin()
        var body: [String: JSONValue] = ["linkTicket": .string(ticket.value)]
        if replacing { body["onConflict"] = "replace" }
        let sentAt = now()
        let answer: HTTPAnswer
        switch proof {
        case .session: answer = try await send("v1/links/bind", body)
        case .password(let email, let password):
            body["email"] = .string(email)
            body["password"] = .string(password)
            answer = try await server.send("v1/links/bind", body)
        case .emailCode(let email, let code):
            body["email"] = .string(email)
            body["emailCode"] = .string(code)
            answer = try await server.send("v1/links/bind", body)
        case .ticket: answer = try await server.send("v1/links/bind", body)
        }
        if answer.status == 409, answer.problemCode == "provider_already_linked" {
            return .conflict(maskedEmail: JSONText.decode(ConflictWire.self, from: answer.body)?.existing?.email)
        }
        switch try answer.body(SignInWire.self) {
        case .signedIn(let signedIn): return .signedIn(try open(signedIn, sentAt: sentAt, answer.requestID))
        case .linkRequired(let ticket): return .holder(ticket)
        }
    }

    /// Has a code mailed with which `bind` can prove an address; the answer is the same for every address.
    public func requestCode(to email: String, for ticket: LinkTicket) async throws(SessionError) {
        try await requestCode(["email": .string(email), "purpose": "bind", "linkTicket": .string(ticket.value)])
    }

    /// Gives a ticket back. One that the server does not hear of expires by itself.
    public func cancel(_ ticket: LinkTicket) async {
        begin()
        _ = try? await server.send("v1/links/cancel", ["linkTicket": .string(ticket.value)])
    }
}
