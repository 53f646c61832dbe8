/// The reason for which a session ended; the raw value is what `sessions.end_reason` has.
package enum SessionEndReason: String, CaseIterable, Sendable {
    case signedOut = "signed_out"
    case refreshReused = "refresh_reused"
    case webCodeReused = "web_code_reused"
    case emailReclaimed = "email_reclaimed"
    case identityUnlinked = "identity_unlinked"
    case identityReplaced = "identity_replaced"
    case authorizationRevoked = "authorization_revoked"
    case providerEvent = "provider_event"
    case emailProven = "email_proven"
    case emailReplaced = "email_replaced"
    case passwordChanged = "password_changed"
    case passwordReset = "password_reset"
    case accountMerged = "account_merged"
    case accountDisabled = "account_disabled"
    case clientUnlinked = "client_unlinked"
    /// The account had more sessions than it may have, and this one was the longest unused.
    case sessionLimit = "session_limit"
    case administrator
    /// A refresh token came that the database has lost: an older one is good again.
    case databaseRestored = "database_restored"
}

extension SessionEndReason {
    /// On whose account the sessions ended, where it is always the same: the feed says so.
    package var cause: AccountEvent.Cause? {
        switch self {
        case .signedOut, .passwordChanged, .passwordReset, .emailProven, .identityReplaced, .accountMerged: .person
        case .refreshReused, .webCodeReused, .emailReclaimed, .sessionLimit, .databaseRestored: .policy
        case .emailReplaced, .administrator, .accountDisabled: .admin
        case .providerEvent: .provider
        case .identityUnlinked, .authorizationRevoked, .clientUnlinked: nil
        }
    }
}
