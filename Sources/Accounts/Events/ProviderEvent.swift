/// One thing that a provider tells of a person, from a verified security event token.
package struct ProviderEvent: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        // Apple
        case emailDisabled = "email-disabled"
        case emailEnabled = "email-enabled"
        case consentRevoked = "consent-revoked"
        /// Also sent as `account-delete`.
        case accountDeleted = "account-deleted"
        // Google
        case sessionsRevoked = "sessions-revoked"
        case tokensRevoked = "tokens-revoked"
        case tokenRevoked = "token-revoked"
        case accountDisabled = "account-disabled"
        case accountEnabled = "account-enabled"
        case credentialChangeRequired = "account-credential-change-required"
        case verification
    }

    /// Whom or what it is about.
    package enum Subject: Sendable {
        case person(ProviderSubject)
        /// A refresh token by its first 16 characters.
        case tokenPrefix([UInt8])
        /// A refresh token by the SHA-512 of its SHA-512.
        case tokenDigest([UInt8])
        /// Nobody, or nobody that can be known here.
        case none
    }

    package let provider: Provider
    package let realm: Realm
    /// `jti`, by which a repetition is known, and the event's place in its token.
    package let tokenID: String
    package let position: Int
    /// As it was sent, at most 255 bytes.
    package let type: String
    /// `nil` for a type that we don't know.
    package let kind: Kind?
    package let subject: Subject
    /// Of a disabled account: why. Of a verification: its state. At most 255 bytes.
    package let detail: String?
    package let occurredAt: Timestamp

    package init(
        provider: Provider, realm: Realm, tokenID: String, position: Int, type: String, kind: Kind?, subject: Subject,
        detail: String?, occurredAt: Timestamp
    ) {
        self.provider = provider
        self.realm = realm
        self.tokenID = tokenID
        self.position = position
        self.type = type
        self.kind = kind
        self.subject = subject
        self.detail = detail
        self.occurredAt = occurredAt
    }
}

package typealias ProviderEventID = Identifier<ProviderEvent>

extension ProviderEvent.Kind {
    /// Those of which only the latest counts.
    package var supersedingKinds: [ProviderEvent.Kind] {
        switch self {
        case .emailDisabled, .emailEnabled: [.emailDisabled, .emailEnabled]
        case .accountDisabled, .accountEnabled: [.accountDisabled, .accountEnabled]
        case .consentRevoked, .accountDeleted, .sessionsRevoked, .tokensRevoked, .tokenRevoked,
            .credentialChangeRequired, .verification:
            []
        }
    }
}

/// `events.apple.consentRevoked`.
package enum ConsentRevokedPolicy: String, CaseIterable, Sendable {
    case unlink
    case keep
}

/// `events.apple.accountDeleted`.
package enum AccountDeletedPolicy: String, CaseIterable, Sendable {
    case unlink
    case deleteAccount
}

/// What an event does to the identity that it is about.
package enum ProviderEventEffect: Hashable, Sendable {
    /// The authorization is over: its grants and sessions end. The identity is unlinked if `unlinking`, unless it is the
    /// last way in.
    case endAuthorization(unlinking: Bool)
    case deleteAccount
    /// The sessions that it opened and the grants that it brought before the event end. The authorization is over unless
    /// the person has consented since.
    case endTokens
    /// The sessions that it opened before the event end.
    case endSessions
    case noteEmailDeliverable(Bool)
    /// It signs nobody in until it is unblocked.
    case block
    case unblock
    /// For the record alone.
    case note

    /// - Parameter detail: of a disabled account, why.
    package init(
        _ kind: ProviderEvent.Kind, detail: String?, consentRevoked: ConsentRevokedPolicy,
        accountDeleted: AccountDeletedPolicy
    ) {
        self =
            switch kind {
            case .emailDisabled: .noteEmailDeliverable(false)
            case .emailEnabled: .noteEmailDeliverable(true)
            case .consentRevoked: .endAuthorization(unlinking: consentRevoked == .unlink)
            case .accountDeleted:
                accountDeleted == .deleteAccount ? .deleteAccount : .endAuthorization(unlinking: true)
            case .sessionsRevoked: .endSessions
            case .tokensRevoked: .endTokens
            case .accountDisabled: detail == "hijacking" ? .endSessions : .block
            case .accountEnabled: .unblock
            // A revoked token is found by its fingerprint, before this is asked.
            case .tokenRevoked, .credentialChangeRequired, .verification: .note
            }
    }
}
