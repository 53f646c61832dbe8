package import Accounts
import Postgres

/// The proof on which an identity may be bound to an account. The transaction that binds checks it again: between a
/// proof and its use the account may have changed hands.
package enum BindProof: Sendable {
    /// A session of the account.
    case session(SessionID, of: AccountID)
    /// The account's password, as the hash that it was compared with.
    case password(hash: PasswordHash, of: AccountID)
    /// A code that was mailed to the account's address, and that binding consumes.
    ///
    /// - Parameter takesOverShown: whether it takes over an account that the ticket's person has been shown before.
    case emailCode(EmailCode, takesOverShown: Bool)
    /// The ticket itself: it proves the mailbox of the account that its person has been shown.
    case shownHolder(AccountID)
    /// No proof: the policy binds to the account that holds the identity's address.
    case verifiedEmail
}

/// The parameters of *bind*.
package struct BindRequest: Sendable {
    package let proof: BindProof
    /// Whether another identity of the provider is replaced.
    package let isReplacing: Bool
    package let strayAccountPolicy: StrayAccountPolicy
    /// The id for the identity if it isn't linked yet.
    package let identityID: IdentityID
    /// `nil` when the person has a session already, and binding opens no other.
    package let newSession: NewSession?

    package init(
        proof: BindProof, isReplacing: Bool, strayAccountPolicy: StrayAccountPolicy, identityID: IdentityID,
        newSession: NewSession?
    ) {
        self.proof = proof
        self.isReplacing = isReplacing
        self.strayAccountPolicy = strayAccountPolicy
        self.identityID = identityID
        self.newSession = newSession
    }
}

extension LinkStore {
    /// Links the ticket's identity to the account that the proof names, as ``Linking`` decides.
    package func bind(_ hash: SecretHash, _ request: BindRequest, by call: Call) async throws -> (
        account: Account, identityID: IdentityID
    ) {
        try await database.change(by: call) { change in
            let ticket = try await change.links.consume(hash)
            let key = ticket.identity.key
            let locked = try await change.accounts.lock(accountsToLock(for: ticket.identity, request))
            let account = try await change.links.account(for: ticket, request)
            // The address may have passed to this account after the locks were taken.
            guard locked.contains(account.id) else { throw Refusal.proofNoLongerValid }
            let owner = try await change.links.owner(of: ticket.identity)
            // Nor is an account locked that the identity came into after that, as by an import.
            guard owner.map({ locked.contains($0.id) }) ?? true else { throw Refusal.identityAlreadyLinked }
            switch Linking.decideBind(
                key, to: account, owner: owner, isReplacing: request.isReplacing,
                policy: ticket.isOfFreshAuthentication ? request.strayAccountPolicy : .refuse
            )
            {
            case .refusedAccountDisabled: throw Refusal.accountDisabled
            case .refusedIdentityLinked: throw Refusal.identityAlreadyLinked
            case .refusedProviderLinked(let existing): throw Refusal.providerAlreadyLinked(existing)
            case .link(let existing, let merged):
                if let existing {
                    try await change.links.replace(existing, by: ticket.identity, of: account, request)
                } else {
                    // The owner of the account that the identity leaves, if it does, may be another person.
                    try await change.mail.notify(
                        [account.mailbox] + (owner?.mailboxes ?? []), of: .identityLinked, provider: key.provider)
                }
                let identityID = owner?.identities.first { $0.key == key }?.id ?? request.identityID
                if let merged {
                    try await change.links.move(
                        identityID, of: ticket.identity, hash, from: merged, to: account.id, request)
                } else {
                    try await change.links.link(ticket, hash, as: identityID, to: account.id)
                }
                return try await change.links.finish(ticket, identityID, account, request)
            }
        }
    }

    /// The condition that selects the account that the proof names and, when the identity may be moved, the account
    /// that it is linked to by now.
    private func accountsToLock(for identity: VerifiedIdentity, _ request: BindRequest) -> SQL {
        var ids: SQL =
            switch request.proof {
            case .session(_, of: let id), .password(_, of: let id), .shownHolder(let id): "SELECT \(id)"
            case .emailCode(let code, takesOverShown: _):
                "SELECT account_id FROM accounts WHERE email = \(code.email.text)"
            case .verifiedEmail:
                "SELECT account_id FROM accounts WHERE email = \(identity.email?.candidate?.text)"
            }
        if request.strayAccountPolicy == .merge {
            ids = "\(ids) UNION ALL SELECT account_id FROM identities WHERE \(identity.key.condition)"
        }
        return "a.account_id = ANY (ARRAY(\(ids)))"
    }
}

extension Change.Links {
    /// The account that the proof names, locked, if the proof still holds.
    fileprivate func account(for ticket: LinkTicket, _ request: BindRequest) async throws -> Account {
        let identity = ticket.identity
        let id: AccountID
        switch request.proof {
        case .password(let hash, let accountID):
            let holds = try await change.execute(
                """
                SELECT FROM accounts
                WHERE account_id = \(accountID) AND password_hash = \(hash)
                """)
            guard holds == 1 else { throw Refusal.proofNoLongerValid }
            id = accountID
        case .session(let sessionID, let accountID):
            guard try await change.sessions.isLive(sessionID, of: accountID) else {
                throw Refusal.proofNoLongerValid
            }
            id = accountID
        case .emailCode(let code, let takesOverShown):
            id = try await accountEntered(by: code, shown: takesOverShown ? ticket.shownHolder : nil)
        case .shownHolder(let accountID):
            guard let shown = ticket.shownHolder,
                let account = try await AccountStore.account(accountID, in: change), shown.covers(account),
                case let proof = ticket.evidence(of: account.email),
                try await change.identities.isCurrent(proof.since, for: accountID)
            else { throw Refusal.proofNoLongerValid }
            guard account.status == .active else { throw Refusal.accountDisabled }
            switch ticket.outcome(ofShown: account) {
            case .takeOverOnceShown:
                guard let (_, source) = proof.evidence.proof else { throw Refusal.proofNoLongerValid }
                try await change.accounts.takeOver(account, by: source)
            case .enter: break
            default: throw Refusal.proofNoLongerValid
            }
            id = accountID
        case .verifiedEmail:
            guard let candidate = identity.email?.candidate else { throw Refusal.proofNoLongerValid }
            let holder = try await AccountStore.holder(of: candidate, in: change)
            guard case .bindAutomatically(let accountID) = Linking.decide(identity, holder: holder, policy: .automatic),
                try await change.identities.isCurrent(identity.issuedAt, for: accountID)
            else { throw Refusal.proofNoLongerValid }
            id = accountID
        }
        guard let account = try await AccountStore.account(id, in: change) else {
            throw Refusal.proofNoLongerValid
        }
        return account
    }

    /// The account that a mailed code leads into, which the code proves.
    ///
    /// - Parameter shown: the account that it takes over if need be.
    fileprivate func accountEntered(by code: EmailCode, shown: ShownAccount?) async throws -> AccountID {
        do {
            switch try await change.accounts.enter(by: code, for: .bindByCode, shown: shown) {
            case .entered(let account): return account.id
            case .choose(let account): throw Refusal.holderNotShown(account)
            }
        } catch Refusal.codeGone {
            throw Refusal.proofNoLongerValid
        }
    }

    /// The account that the identity is linked to by now, if any; locked when it may be changed.
    fileprivate func owner(of identity: VerifiedIdentity) async throws -> Account? {
        let owners = try await change.query(
            """
            SELECT account_id, not_before, auth_not_before
            FROM identities
            WHERE \(identity.key.condition)
            """, as: AccountID.self, Timestamp?.self, Timestamp?.self)
        guard let (owner, notBefore, authNotBefore) = owners.first else { return nil }
        let cutoff = ProofCutoff(tokens: notBefore, authentications: authNotBefore)
        // What the ticket's token proved counts no more, since a sign-out or an event of the provider: it moves nothing.
        guard cutoff.admits(issuedAt: identity.issuedAt, authenticatedAt: identity.authenticatedAt) else {
            throw Refusal.identityAlreadyLinked
        }
        return try await AccountStore.account(owner, in: change)
    }

    /// Unlinks the identity that is replaced, and notifies every mailbox of the account and that of the new identity.
    fileprivate func replace(
        _ existing: Identity, by identity: VerifiedIdentity, of account: Account, _ request: BindRequest
    ) async throws {
        try await change.accounts.unlink(
            existing, of: account.id, reason: .identityReplaced, event: AuditEvent(.identityReplaced, from: origin))
        try await change.mail.notify(
            account.mailboxes + [identity.email?.mailbox], of: .identityReplaced,
            provider: identity.key.provider)
    }

    /// Moves the identity out of an identity-only account, with the id that the account has in the system before, and deletes
    /// that account.
    fileprivate func move(
        _ identityID: IdentityID, of identity: VerifiedIdentity, _ hash: SecretHash, from merged: AccountID,
        to accountID: AccountID, _ request: BindRequest
    ) async throws {
        try await change.accounts.endSessions(of: merged, because: .accountMerged)
        _ = try await change.execute(
            """
            UPDATE identities
            SET account_id = \(accountID), created_at = \(now),
                proven_at = GREATEST(proven_at, \(identity.authenticatedAt),
                    (SELECT max(COALESCE(s.provider_auth_time, s.auth_time)) FROM sessions s
                        WHERE s.identity_id = \(identityID)))
            WHERE identity_id = \(identityID)
            """)
        try await release(hash, of: identity.key)
        try await change.revocations.reassign(from: merged, to: accountID)
        _ = try await change.execute(
            """
            UPDATE accounts
            SET external_id = (SELECT m.external_id FROM accounts m WHERE m.account_id = \(merged))
            WHERE account_id = \(accountID) AND external_id IS NULL
            """)
        let externalIDs = try await change.query(
            "DELETE FROM accounts WHERE account_id = \(merged) RETURNING external_id", as: ExternalID?.self)
        change.announce(.accountMerged(into: accountID), of: merged, externalID: externalIDs.first ?? nil)
        change.announce(.identityLinked(identityID, identity.key.provider, by: cause), of: accountID)
        try await change.record(
            .accountMerged, accountID: merged, identityID: identityID, provider: identity.key.provider)
    }

    fileprivate func finish(
        _ ticket: LinkTicket, _ identityID: IdentityID, _ account: Account, _ request: BindRequest
    ) async throws -> (account: Account, identityID: IdentityID) {
        let provider = ticket.identity.key.provider
        if let name = ticket.displayName {
            try await AccountStore.fillDisplayName(name, of: account.id, in: change)
        }
        if let raised = account.emailRaised(by: ticket.identity.email) {
            try await change.accounts.raise(raised, of: account.id)
        }
        if let newSession = request.newSession { try await open(newSession, by: identityID) }
        try await change.record(.identityLinked, accountID: account.id, identityID: identityID, provider: provider)
        guard let bound = try await AccountStore.account(account.id, in: change) else {
            throw Refusal.proofNoLongerValid
        }
        return (bound, identityID)
    }
}
