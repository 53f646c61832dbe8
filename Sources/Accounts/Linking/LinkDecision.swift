/// A choice of a person whose identity is not linked.
package enum LinkChoice: String, Sendable {
    case create
    case bind
}

/// `linking.verifiedEmail`: what a verified email of an unknown identity does when an account holds that address.
package enum VerifiedEmailPolicy: String, CaseIterable, Sendable {
    /// Always ask for a proof of the account.
    case prompt
    /// Bind without one where the provider runs the mailbox's domain and the account's own email is proven.
    case automatic
}

/// `nonces.policy`.
package enum NoncePolicy: String, CaseIterable, Sendable {
    /// A posted nonce has to match; none is asked for.
    case optional
    /// Only a nonce that this service issued.
    case required
}

/// The decision on an unknown identity.
package enum UnknownIdentityDecision: Hashable, Sendable {
    case linkRequired([LinkChoice], showing: HolderView)
    case bindAutomatically(AccountID)
}

/// The decision of *create* on the address of the person who creates.
package enum CreateDecision: Hashable, Sendable {
    /// `nil` for an account without an address.
    case create(ProvenEmail?)
    /// The reader of the mailbox takes the address from the account that can't prove it.
    case createTaking(ProvenEmail, from: Account)
    case refusedEmailTaken
}

/// `linking.strayAccount`: what becomes of an identity-only account when the identity's owner proves another account
/// and wants the identity there.
package enum StrayAccountPolicy: String, CaseIterable, Sendable {
    /// It stays; the identity can't be bound.
    case refuse
    /// The identity moves, with the id of the system that the account came from, and the account it leaves empty is deleted.
    /// Of two such ids none is lost: then the account stays.
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
        _ identity: VerifiedIdentity, holder: Account?, policy: VerifiedEmailPolicy
    ) -> UnknownIdentityDecision {
        let evidence = AddressEvidence(identity.email)
        switch AddressRule.outcome(of: .signIn, evidence, holder: standing(holder, against: identity), policy: policy) {
        case .choose(let choices, let view): return .linkRequired(choices, showing: view)
        case .bindUnasked:
            guard let holder, holder.status == .active, !holder.hasIdentity(of: identity.key) else {
                return decide(identity, holder: holder, policy: .prompt)
            }
            return .bindAutomatically(holder.id)
        default: return .linkRequired([.create, .bind], showing: .nothing)
        }
    }

    /// What is left of an account to a person whose proof of its mailbox counts no more: what an address that is merely stated
    /// leads to.
    package static func withoutProof(of holder: Account) -> (choices: [LinkChoice], view: HolderView) {
        guard
            case .choose(let choices, let view) = AddressRule.outcome(
                of: .signIn, .stated, holder: AddressHolder(holder))
        else { return ([.create, .bind], .nothing) }
        return (choices, view)
    }

    /// - Parameter holder: the account that holds the address, whatever the evidence is.
    package static func decideCreate(
        _ address: EmailAddress?, _ evidence: AddressEvidence, holder: Account?
    ) -> CreateDecision {
        guard let address, let (proof, source) = evidence.proof else { return .create(nil) }
        let email = ProvenEmail(address: address, proof: proof, source: source)
        switch AddressRule.outcome(of: .create, evidence, holder: AddressHolder(holder)) {
        case .create(withAddress: true): return .create(email)
        case .createTaking:
            guard let holder else { return .create(email) }
            return .createTaking(email, from: holder)
        case .refuseEmailTaken: return .refusedEmailTaken
        default: return .create(nil)
        }
    }

    /// The holder's degree as this person finds it: a successor at the same provider shows that the mailbox may have
    /// changed hands.
    private static func standing(_ holder: Account?, against identity: VerifiedIdentity) -> AddressHolder {
        let standing = AddressHolder(holder)
        return standing == .proven && holder?.isSucceeded(by: identity) == true ? .stated : standing
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
            guard policy == .merge, owner.id != account.id, owner.isIdentityOnly(key),
                owner.externalID == nil || account.externalID == nil
            else {
                return .refusedIdentityLinked
            }
        }
        let existing = account.identity(besides: key)
        if let existing, !isReplacing { return .refusedProviderLinked(existing) }
        return .link(replacing: existing, leaving: owner?.id)
    }
}

extension Account {
    /// Its identity of the same provider and realm with another subject.
    package func identity(besides key: IdentityKey) -> Identity? {
        identities.first { $0.key.provider == key.provider && $0.key.realm == key.realm && $0.key != key }
    }

    func hasIdentity(of key: IdentityKey) -> Bool {
        identities.contains { $0.key.provider == key.provider && $0.key.realm == key.realm }
    }
}
