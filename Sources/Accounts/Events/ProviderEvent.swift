/// One event that a provider reports of a person or token, from a verified security event token.
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

    /// The person or token that it is about.
    package enum Subject: Equatable, Sendable {
        case person(ProviderSubject)
        /// A provider refresh token, by its first 16 characters.
        case tokenPrefix([UInt8])
        /// A provider refresh token, by the SHA-512 of its SHA-512.
        case tokenDigest([UInt8])
        /// No person or token, or none that can be known here.
        case none
    }

    package let provider: Provider
    package let realm: Realm
    /// The token's `jti`, by which a repetition is recognised.
    package let tokenID: String
    /// The event's position in its token.
    package let position: Int
    /// As it was sent, at most 255 bytes.
    package let type: String
    /// `nil` for a type that we don't know.
    package let kind: Kind?
    package let subject: Subject
    /// The reason of a disabled account, or the state of a verification. At most 255 bytes.
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
    /// The kinds that set the same state, of which only the latest event counts.
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

/// What the events of Apple do that the operator chooses.
package struct ProviderEventPolicy: Hashable, Sendable {
    package let consentRevoked: ConsentRevokedPolicy
    package let accountDeleted: AccountDeletedPolicy

    package init(consentRevoked: ConsentRevokedPolicy, accountDeleted: AccountDeletedPolicy) {
        self.consentRevoked = consentRevoked
        self.accountDeleted = accountDeleted
    }
}

/// The effect of an event on the identity that it is about.
package enum ProviderEventEffect: Hashable, Sendable {
    /// The authorization is over: its grants and sessions end. The identity is unlinked if `unlinking`, unless it is
    /// the last sign-in method.
    case endAuthorization(unlinking: Bool)
    case deleteAccount
    /// The sessions that it opened and the grants that it brought before the event end. The authorization is over unless
    /// the person has consented since.
    case endTokens
    /// The sessions that it opened before the event end.
    case endSessions
    case noteEmailDeliverable(Bool)
    /// The identity can't sign in until it is unblocked.
    case block
    case unblock
    /// The identity shows that its person is to change their credentials there, until they have signed in with it.
    case requireCredentialChange
    /// None on an identity.
    case note

    /// - Parameter detail: the reason of a disabled account.
    package init(_ kind: ProviderEvent.Kind, detail: String?, policy: ProviderEventPolicy) {
        self =
            switch kind {
            case .emailDisabled: .noteEmailDeliverable(false)
            case .emailEnabled: .noteEmailDeliverable(true)
            case .consentRevoked: .endAuthorization(unlinking: policy.consentRevoked == .unlink)
            case .accountDeleted:
                policy.accountDeleted == .deleteAccount ? .deleteAccount : .endAuthorization(unlinking: true)
            case .sessionsRevoked: .endSessions
            case .tokensRevoked: .endTokens
            case .accountDisabled: detail == "hijacking" ? .endSessions : .block
            case .accountEnabled: .unblock
            case .credentialChangeRequired: .requireCredentialChange
            // A revoked token is found by its fingerprint, before its effect would be asked for.
            case .tokenRevoked, .verification: .note
            }
    }
}

extension ProviderEventEffect {
    /// Whether it takes something away that a newer consent gives back.
    package var isUndoneByConsent: Bool {
        switch self {
        case .endAuthorization, .deleteAccount: true
        case .endTokens, .endSessions, .noteEmailDeliverable, .block, .unblock, .requireCredentialChange, .note: false
        }
    }

    package var endsAuthorization: Bool { isUndoneByConsent || self == .endTokens }

    package var endsSessions: Bool { endsAuthorization || self == .endSessions }

    /// Whether it sets a state that a later event overwrites.
    package var setsState: Bool {
        switch self {
        case .noteEmailDeliverable, .block, .unblock: true
        case .endAuthorization, .deleteAccount, .endTokens, .endSessions, .requireCredentialChange, .note: false
        }
    }
}
