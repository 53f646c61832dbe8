import Primitives

/// A decision or a change, for the record: ids and codes, no email, name or token.
package struct AuditEvent: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case accountCreated = "account_created"
        case accountDeleted = "account_deleted"
        /// An administrator disabled the account, or enabled it again.
        case accountDisabled = "account_disabled"
        case accountEnabled = "account_enabled"
        /// What is stored about its person was handed out: to the owner, an administrator or an operator.
        case accountExported = "account_exported"
        /// A duplicate account was merged into another one of the same person.
        case accountMerged = "account_merged"
        /// A run ended that brought accounts in from another system: under which name, and how many in each outcome.
        case accountsImported = "accounts_imported"
        /// An import was undone: which, how many of its accounts went, and how many stayed.
        case importUndone = "import_undone"
        /// A session was opened.
        case signedIn = "signed_in"
        /// A provider's credential was refused, or any right proof of a disabled account: why, and how often since the last
        /// such row.
        case credentialRejected = "credential_rejected"
        /// A password or a mailed code was wrong.
        case guessRejected = "guess_rejected"
        /// A rate limit was reached: which.
        case rateLimited = "rate_limited"
        /// The person of an identity that is not linked has to choose.
        case linkRequired = "link_required"
        case linkCancelled = "link_cancelled"
        case identityLinked = "identity_linked"
        case identityUnlinked = "identity_unlinked"
        /// An administrator detached it from its account and left its authorization alone.
        case identityDetached = "identity_detached"
        /// Another identity of the provider took its place.
        case identityReplaced = "identity_replaced"
        /// The subject changed because the app moved to another developer team.
        case identityTransferred = "identity_transferred"
        /// The end of the authorization was requested.
        case revocationRequested = "revocation_requested"
        case revocationDone = "revocation_done"
        case revocationFailed = "revocation_failed"
        /// A revocation that was given up is attempted again.
        case revocationRetried = "revocation_retried"
        /// The provider reports that the authorization is over.
        case authorizationRevoked = "authorization_revoked"
        /// The provider or an administrator no longer trusts the sessions, or the account had too many: how many ended then.
        case sessionsEnded = "sessions_ended"
        case identityBlocked = "identity_blocked"
        case identityUnblocked = "identity_unblocked"
        case emailDeliverable = "email_deliverable"
        case emailUndeliverable = "email_undeliverable"
        case grantRevoked = "grant_revoked"
        case credentialChangeRequired = "credential_change_required"
        case streamVerified = "stream_verified"
        /// A provider's event is processed again.
        case eventReplayed = "event_replayed"
        /// A provider refused a code that was posted with a good token.
        case codeRejected = "code_rejected"
        /// A code by mail was requested: what for, and how often since the last such row.
        case codeRequested = "code_requested"
        /// A code was mailed to the account that awaits it.
        case codeMailed = "code_mailed"
        /// A mailbox was proven for the first time: by a code, and what was set up before was removed; or as the reason
        /// says, by a provider that runs the mailbox, or by a reader of it who took the account over.
        case emailProven = "email_proven"
        /// The account's address is stated from now on: the reason says by whom, or why it is no longer proven.
        case emailStated = "email_stated"
        case emailVerified = "email_verified"
        case emailChangeRequested = "email_change_requested"
        case emailChanged = "email_changed"
        /// An administrator requested another address for an account whose owner has lost the mailbox.
        case emailReplacementRequested = "email_replacement_requested"
        /// It was stopped, or ended by itself: the reason is a code then.
        case emailReplacementCancelled = "email_replacement_cancelled"
        /// It took effect. The actor's name is that of the key by which it was requested.
        case emailReplaced = "email_replaced"
        /// The account has lost its unproven address to the verified owner.
        case emailReclaimed = "email_reclaimed"
        case passwordChanged = "password_changed"
        case passwordReset = "password_reset"
        case displayNameChanged = "display_name_changed"
        case signedOut = "signed_out"
        case refreshReused = "refresh_reused"
        /// The code of a web flow came a second time: what the first had opened was ended.
        case webCodeReused = "web_code_reused"
        /// A client of the OAuth server was linked to the account: which, and how.
        case clientLinked = "client_linked"
        /// It is linked no more: which, and why.
        case clientUnlinked = "client_unlinked"
        /// A code of the OAuth server came a second time: what had come of it was ended.
        case oauthCodeReused = "oauth_code_reused"
        /// A refresh token of the OAuth server came after its successor was used: what it belonged to was ended.
        case oauthTokenReused = "oauth_token_reused"
        /// A client wanted to revoke the token of another.
        case foreignTokenPresented = "foreign_token_presented"
        /// A client of the OAuth server was made or changed: which, and what.
        case oauthClientCreated = "oauth_client_created"
        case oauthClientChanged = "oauth_client_changed"
        /// An admin key was created: which, and with which scopes.
        case adminKeyCreated = "admin_key_created"
        case adminKeyRevoked = "admin_key_revoked"
        /// An unknown or revoked admin key was presented: which of both, and the name of the latter.
        case adminKeyRejected = "admin_key_rejected"
        /// An administrator signed in to the console: the id of the key, or `google`.
        case consoleOpened = "console_opened"
        /// The sessions of a member of the staff at the console were ended: whose, and how many.
        case consoleEnded = "console_ended"
        /// The name of a member of the staff was released, so that another account at Google may have it: which name.
        case consoleForgotten = "console_forgotten"
        /// A sign-in to the console by Google was refused: why.
        case consoleRefused = "console_refused"
        /// Rows of the trail were handed out as a file: by which conditions.
        case auditExported = "audit_exported"
        /// Old months of the trail were taken away: before which, how many rows, and the anchor that a check begins behind.
        case auditDropped = "audit_dropped"
        /// An administrator had a test posted to an endpoint: which.
        case webhookTested = "webhook_tested"
        /// An administrator paused the deliveries to an endpoint, resumed them or sent a stretch again: which, and why.
        case webhookPaused = "webhook_paused"
        case webhookResumed = "webhook_resumed"
        case webhookReplayed = "webhook_replayed"
        /// What had ended before this database was restored to an earlier time was ended again: what it was restored to, and by
        /// what.
        case databaseReconciled = "database_reconciled"
        /// A new signing key for access tokens was stored.
        case signingKeyRotated = "signing_key_rotated"
    }

    /// The party that made it happen.
    package enum Actor: String, Sendable {
        case person
        /// An operator at the command line.
        case `operator`
        /// An administrator with an admin key, or signed in to the console.
        case administrator
        case provider
        case service
    }

    package let kind: Kind
    package let actor: Actor
    /// The name of the admin key or the member of the staff that made it happen, or that it is about; an operator's as they
    /// state it.
    package var actorName: String?
    package var accountID: AccountID?
    package var identityID: IdentityID?
    package var revocationID: RevocationID?
    package var sessionID: SessionID?
    package var provider: Provider?
    /// The `jti` of the token by which a provider reported it.
    package var tokenID: String?
    /// A code, or what an operator or administrator typed; at most ``longestReason`` bytes.
    package var reason: String?
    package var requestID: String?
    /// The IPv4 /24 or IPv6 /64 of the caller.
    package var network: Network?
    /// The number of occurrences that the row stands for.
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

    /// Whether a text can be that of ``actorName``: 1 to 100 bytes without controls, and not of spaces alone.
    package static func isActorName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && !text.utf8.contains(where: \.isASCIIControl)
            && text.utf8.contains { $0 != 0x20 }
    }

    /// The most bytes of a reason.
    package static let longestReason = 1024

    /// The reason of an act at something that has a name: that name, and what was typed, of which a long one loses its end.
    package static func reason(of name: String, _ typed: String?) -> String {
        var words = [name, typed].compactMap(\.self).joined(separator: " ")
        while words.utf8.count > longestReason { words.unicodeScalars.removeLast() }
        return words
    }
}
