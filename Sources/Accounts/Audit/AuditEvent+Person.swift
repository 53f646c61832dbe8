extension AuditEvent.Kind {
    /// Whether a person does it only with a session, an identity or the mailbox of the account that the event is about, or
    /// makes the account. One who guesses, presents a token that was used before, or comes with the same address may be
    /// another person; what ends with that has the same origin. Who made an account and who takes it over as the reader of its
    /// mailbox count as one.
    package var isOfThePersonAlone: Bool {
        switch self {
        case .accountCreated, .accountDeleted, .accountExported, .accountMerged, .signedIn, .signedOut,
            .identityLinked, .identityUnlinked, .identityReplaced, .identityTransferred, .revocationRequested,
            .emailVerified, .emailChangeRequested, .emailChanged, .passwordChanged, .passwordReset, .displayNameChanged,
            .clientLinked:
            true
        case .credentialRejected, .guessRejected, .rateLimited, .linkRequired, .linkCancelled, .codeRejected,
            .codeRequested, .codeMailed, .emailProven, .emailStated, .emailReclaimed, .refreshReused, .webCodeReused,
            .oauthCodeReused, .oauthTokenReused, .foreignTokenPresented, .sessionsEnded, .clientUnlinked,
            .emailReplacementCancelled:
            false
        // What no person does.
        case .accountDisabled, .accountEnabled, .accountsImported, .importUndone, .identityDetached, .revocationDone,
            .revocationFailed, .revocationRetried, .authorizationRevoked, .identityBlocked, .identityUnblocked,
            .emailDeliverable, .emailUndeliverable, .grantRevoked, .credentialChangeRequired, .streamVerified,
            .eventReplayed, .emailReplacementRequested, .emailReplaced, .oauthClientCreated, .oauthClientChanged,
            .adminKeyCreated, .adminKeyRevoked, .adminKeyRejected, .consoleOpened, .consoleEnded, .consoleForgotten,
            .consoleRefused, .auditExported, .auditDropped, .webhookTested, .webhookPaused, .webhookResumed,
            .webhookReplayed, .databaseReconciled, .signingKeyRotated:
            false
        }
    }
}
