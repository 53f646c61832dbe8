/// Something that was decided or changed, for the record: ids and codes, no email, name or token.
package struct AuditEvent: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case accountDeleted = "account_deleted"
        case identityUnlinked = "identity_unlinked"
        /// Another identity of the provider took its place.
        case identityReplaced = "identity_replaced"
        /// The subject changed because the app moved to another developer team.
        case identityTransferred = "identity_transferred"
        /// Somebody asked for the end of the authorization.
        case revocationRequested = "revocation_requested"
        case revocationDone = "revocation_done"
        case revocationFailed = "revocation_failed"
        /// The provider says that the authorization is over.
        case authorizationRevoked = "authorization_revoked"
        /// The provider says that the sessions are not to be trusted any more.
        case sessionsEnded = "sessions_ended"
        case identityBlocked = "identity_blocked"
        case identityUnblocked = "identity_unblocked"
        case emailDeliverable = "email_deliverable"
        case emailUndeliverable = "email_undeliverable"
        case grantRevoked = "grant_revoked"
        case credentialChangeRequired = "credential_change_required"
        case streamVerified = "stream_verified"
        /// A provider refused a code that came beside a good token.
        case codeRejected = "code_rejected"
    }

    /// Who made it happen.
    package enum Actor: String, Sendable {
        case person
        case `operator`
        case provider
        case service
    }

    package let kind: Kind
    package let actor: Actor
    package var accountID: AccountID?
    package var identityID: IdentityID?
    package var revocationID: RevocationID?
    package var provider: Provider?
    /// `jti` of the token by which a provider told of it.
    package var tokenID: String?
    /// A code, or what an operator typed; at most 1,024 bytes.
    package var reason: String?
    package var requestID: String?

    package init(
        _ kind: Kind, by actor: Actor, accountID: AccountID? = nil, identityID: IdentityID? = nil,
        revocationID: RevocationID? = nil, provider: Provider? = nil, tokenID: String? = nil,
        reason: String? = nil, requestID: String? = nil
    ) {
        self.kind = kind
        self.actor = actor
        self.accountID = accountID
        self.identityID = identityID
        self.revocationID = revocationID
        self.provider = provider
        self.tokenID = tokenID
        self.reason = reason
        self.requestID = requestID
    }
}
