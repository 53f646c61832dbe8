/// Something that was decided or changed, for the record: ids and codes, no email, name or token.
package struct AuditEvent: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case accountCreated = "account_created"
        case accountDeleted = "account_deleted"
        /// An administrator has shut it, or opened it again.
        case accountDisabled = "account_disabled"
        case accountEnabled = "account_enabled"
        /// An account that somebody made beside their own went up in it.
        case accountMerged = "account_merged"
        /// A session was opened.
        case signedIn = "signed_in"
        /// A provider's credential was refused: why, and how often since the last such row.
        case credentialRejected = "credential_rejected"
        /// A password or a mailed code was wrong.
        case guessRejected = "guess_rejected"
        /// Somebody ran into a limit: which.
        case rateLimited = "rate_limited"
        /// Somebody whom nobody has linked yet has to choose.
        case linkRequired = "link_required"
        case linkCancelled = "link_cancelled"
        case identityLinked = "identity_linked"
        case identityUnlinked = "identity_unlinked"
        /// An administrator took it from its account and left its authorization alone.
        case identityDetached = "identity_detached"
        /// Another identity of the provider took its place.
        case identityReplaced = "identity_replaced"
        /// The subject changed because the app moved to another developer team.
        case identityTransferred = "identity_transferred"
        /// Somebody asked for the end of the authorization.
        case revocationRequested = "revocation_requested"
        case revocationDone = "revocation_done"
        case revocationFailed = "revocation_failed"
        /// One that was given up is attempted anew.
        case revocationRetried = "revocation_retried"
        /// The provider says that the authorization is over.
        case authorizationRevoked = "authorization_revoked"
        /// The provider says that the sessions are not to be trusted any more, or an administrator does.
        case sessionsEnded = "sessions_ended"
        case identityBlocked = "identity_blocked"
        case identityUnblocked = "identity_unblocked"
        case emailDeliverable = "email_deliverable"
        case emailUndeliverable = "email_undeliverable"
        case grantRevoked = "grant_revoked"
        case credentialChangeRequired = "credential_change_required"
        case streamVerified = "stream_verified"
        /// What a provider told is acted on once more.
        case eventReplayed = "event_replayed"
        /// A provider refused a code that came beside a good token.
        case codeRejected = "code_rejected"
        /// Somebody asked for a code by mail: what for, and how often since the last such row.
        case codeRequested = "code_requested"
        /// A code was mailed, to whoever awaits one.
        case codeMailed = "code_mailed"
        /// A mailbox was proven that never had been: what was set up before its owner came is gone.
        case emailProven = "email_proven"
        case emailVerified = "email_verified"
        case emailChangeRequested = "email_change_requested"
        case emailChanged = "email_changed"
        /// The verified owner of the address has arrived: this account has lost it.
        case emailReclaimed = "email_reclaimed"
        case passwordChanged = "password_changed"
        case passwordReset = "password_reset"
        case displayNameChanged = "display_name_changed"
        case signedOut = "signed_out"
        case refreshReused = "refresh_reused"
        /// A key for administrators was made: which, and for what.
        case adminKeyCreated = "admin_key_created"
        case adminKeyRevoked = "admin_key_revoked"
        /// There is a new key for access tokens.
        case signingKeyRotated = "signing_key_rotated"
    }

    /// Who made it happen.
    package enum Actor: String, Sendable {
        case person
        /// At the command line.
        case `operator`
        /// By the admin API, with a key.
        case administrator
        case provider
        case service
    }

    package let kind: Kind
    package let actor: Actor
    /// The name of the admin key that made it happen, or that it is about.
    package var actorName: String?
    package var accountID: AccountID?
    package var identityID: IdentityID?
    package var revocationID: RevocationID?
    package var sessionID: SessionID?
    package var provider: Provider?
    /// `jti` of the token by which a provider told of it.
    package var tokenID: String?
    /// A code, or what an operator or administrator typed; at most 1,024 bytes.
    package var reason: String?
    package var requestID: String?
    /// The IPv4 /24 or IPv6 /64 of whoever called.
    package var network: String?
    /// How often, where it is written down in sums.
    package var occurrences: Int32 = 1

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
