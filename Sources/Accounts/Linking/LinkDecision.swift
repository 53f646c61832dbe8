/// A choice of a person whose identity is not linked.
package enum LinkChoice: String, Sendable {
    case create
    case bind
}

/// `linking.verifiedEmail`: what a verified email of an unknown identity does when an account holds that address.
package enum VerifiedEmailPolicy: String, CaseIterable, Sendable {
    /// Always ask for a proof of the account.
    case prompt
    /// Bind without one where the provider runs the mailbox's domain and the account's own email is verified.
    case automatic
}

/// `nonces.policy`.
package enum NoncePolicy: String, CaseIterable, Sendable {
    /// A posted nonce has to match; none is asked for.
    case optional
    /// Only a nonce that this service issued.
    case required
}

/// The account that holds an email address.
package struct EmailHolder: Hashable, Sendable {
    package let accountID: AccountID
    package let isEmailVerified: Bool
    package let status: Account.Status
    package let hasIdentities: Bool
    /// Whether it already has an identity of the provider and realm in question.
    package let hasIdentityOfProvider: Bool

    package init(
        accountID: AccountID, isEmailVerified: Bool, status: Account.Status, hasIdentities: Bool,
        hasIdentityOfProvider: Bool
    ) {
        self.accountID = accountID
        self.isEmailVerified = isEmailVerified
        self.status = status
        self.hasIdentities = hasIdentities
        self.hasIdentityOfProvider = hasIdentityOfProvider
    }
}

/// The decision on an unknown identity.
package enum UnknownIdentityDecision: Hashable, Sendable {
    case linkRequired([LinkChoice])
    case bindAutomatically(AccountID)
}

/// The decision of *create* on the identity's email.
package enum CreateDecision: Hashable, Sendable {
    /// The new account takes the address; `nil` when the provider has not proven one.
    case create(email: EmailAddress?, isVerified: Bool)
    /// The verified owner takes the address: the account that never proved it loses it, its password and its sessions,
    /// and is disabled when no identity is left to sign in with.
    case createAndReclaim(email: EmailAddress, from: AccountID, disable: Bool)
    case refusedEmailTaken
}

/// `linking.strayAccount`: what becomes of an identity-only account when the identity's owner proves another account
/// and wants the identity there.
package enum StrayAccountPolicy: String, CaseIterable, Sendable {
    /// It stays; the identity can't be bound.
    case refuse
    /// The identity moves, and the account it leaves empty is deleted.
    case merge
}

/// The decision of *bind* on a proven identity and a proven account.
package enum BindDecision: Hashable, Sendable {
    /// - Parameters:
    ///   - replacing: the account's other identity of the provider, which is unlinked.
    ///   - leaving: the account that the identity is moved from, which is deleted.
    case link(replacing: Identity?, leaving: AccountID?)
    case refusedAccountDisabled
    case refusedIdentityLinked
    /// The account has another identity of the provider: this one.
    case refusedProviderLinked(Identity)
}

/// The rules of linking. Pure: the caller reads what a rule needs and executes its decision.
package enum Linking {
    /// - Parameter holder: the account that holds the identity's ``ProviderEmail/candidate`` address.
    package static func decide(
        _ identity: VerifiedIdentity, holder: EmailHolder?, policy: VerifiedEmailPolicy
    ) -> UnknownIdentityDecision {
        guard identity.email?.candidate != nil, let holder, holder.isEmailVerified else {
            return .linkRequired([.create, .bind])
        }
        if policy == .automatic, identity.email?.isAuthoritative == true, holder.status == .active,
            !holder.hasIdentityOfProvider
        {
            return .bindAutomatically(holder.accountID)
        }
        return .linkRequired([.bind])
    }

    /// - Parameter holder: the account that holds the identity's address, candidate or not.
    package static func decideCreate(_ email: ProviderEmail?, holder: EmailHolder?) -> CreateDecision {
        guard let email, email.isVerified else { return .create(email: nil, isVerified: false) }
        guard let holder else { return .create(email: email.address, isVerified: true) }
        // A relay address never matches and never conflicts: the new account goes without.
        guard let candidate = email.candidate else { return .create(email: nil, isVerified: false) }
        guard !holder.isEmailVerified else { return .refusedEmailTaken }
        return .createAndReclaim(email: candidate, from: holder.accountID, disable: !holder.hasIdentities)
    }

    /// - Parameters:
    ///   - key: the identity that was proven, by a ticket or a token.
    ///   - account: the account that was proven.
    ///   - owner: the account that the identity is linked to, if any.
    ///   - isReplacing: whether another identity of the provider may be replaced.
    package static func decideBind(
        _ key: IdentityKey, to account: Account, owner: Account?, isReplacing: Bool, policy: StrayAccountPolicy
    ) -> BindDecision {
        guard account.status == .active else { return .refusedAccountDisabled }
        if let owner {
            guard policy == .merge, owner.id != account.id, owner.isIdentityOnly(key) else {
                return .refusedIdentityLinked
            }
        }
        let existing = account.identities.first {
            $0.key.provider == key.provider && $0.key.realm == key.realm && $0.key != key
        }
        if let existing, !isReplacing { return .refusedProviderLinked(existing) }
        return .link(replacing: existing, leaving: owner?.id)
    }
}
