/// The origin of a change: who makes it, from where, and the language in which the account's owner is notified.
package struct ChangeOrigin: Sendable {
    package let actor: AuditEvent.Actor
    /// The name of the admin key, the member of the staff or the OAuth client by which the change is made; an operator's as
    /// they state it, which proves nothing.
    package let actorName: String?
    package let requestID: String?
    /// The IPv4 /24 or IPv6 /64 of the caller.
    package let network: Network?
    /// `nil` when mail is switched off.
    package let mailLanguage: String?

    package init(
        actor: AuditEvent.Actor, actorName: String? = nil, requestID: String?, network: Network? = nil,
        mailLanguage: String? = nil
    ) {
        self.actor = actor
        self.actorName = actorName
        self.requestID = requestID
        self.network = network
        self.mailLanguage = mailLanguage
    }

    /// A worker, which notifies in the language that is noted with the change.
    package static let service = ChangeOrigin(actor: .service, requestID: nil)
    /// An event of a provider.
    package static let provider = ChangeOrigin(actor: .provider, requestID: nil)
    /// An operator at the command line, who notifies in no language.
    package static let commandLine = ChangeOrigin(actor: .operator, requestID: nil)

    /// An operator by the name that they state.
    package static func commandLine(named name: String?, mailLanguage: String? = nil) -> ChangeOrigin {
        ChangeOrigin(actor: .operator, actorName: name, requestID: nil, mailLanguage: mailLanguage)
    }
}

extension AuditEvent {
    package init(
        _ kind: Kind, from origin: ChangeOrigin, accountID: AccountID? = nil, identityID: IdentityID? = nil,
        sessionID: SessionID? = nil, provider: Provider? = nil, reason: String? = nil
    ) {
        self.init(
            kind, by: origin.actor, accountID: accountID, identityID: identityID, provider: provider, reason: reason,
            requestID: origin.requestID)
        self.actorName = origin.actorName
        self.sessionID = sessionID
        self.network = origin.network
    }

    /// An event of a request, with its id and the network that it came from. The actor may be another than its origin.
    package init(
        _ kind: Kind, by actor: Actor, in call: Call, accountID: AccountID? = nil, identityID: IdentityID? = nil,
        provider: Provider? = nil, reason: String? = nil
    ) {
        self.init(
            kind, by: actor, accountID: accountID, identityID: identityID, provider: provider, reason: reason,
            requestID: call.caller.requestID)
        self.network = call.caller.network
    }
}
