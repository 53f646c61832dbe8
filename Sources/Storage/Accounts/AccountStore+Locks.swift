import Accounts
import Postgres

/// The locks on accounts, in the order that README.md of this target draws.
extension Change.Accounts {
    /// The account with its identities, locked until the transaction ends: no other transaction links, unlinks or signs
    /// in with one of them meanwhile. The lock is a statement of its own, because a statement that waits for a lock
    /// still sees the state from before the wait.
    func lock(_ id: AccountID) async throws(PostgresError) -> Account? {
        try await lock("a.account_id = \(id)")
        return try await AccountStore.account(id, in: change)
    }

    /// Locks the accounts, named `a`, that meet the condition, and their identities. A transaction that needs several
    /// locks them in one call: two that take one each, and then want the other's, wait for each other.
    @discardableResult
    func lock(_ condition: SQL) async throws(PostgresError) -> [AccountID] {
        let ids = try await change.query(
            "SELECT a.account_id FROM accounts a WHERE \(condition) ORDER BY a.account_id FOR UPDATE",
            as: AccountID.self)
        guard !ids.isEmpty else { return [] }
        _ = try await change.execute(
            "SELECT FROM identities WHERE account_id = ANY (\(ids)) ORDER BY identity_id FOR UPDATE")
        return ids
    }

    /// The account that has the address, locked. Who takes a free address learns at its write when another
    /// was faster (``Postgres/Database/changeTakingAddress(by:file:line:_:)``).
    ///
    /// - Throws: ``HolderChanged`` when the address passed to another account before it was locked.
    func lockHolder(of email: EmailAddress) async throws -> Account? {
        let locked = try await lock("a.email = \(email.text)")
        guard !locked.isEmpty else { return nil }
        let holder = try await AccountStore.holder(of: email, in: change)
        if let holder, !locked.contains(holder.id) { throw HolderChanged() }
        return holder
    }

    /// The account of the session, locked, if the session is live and the account is active.
    func lock(of session: Session) async throws -> Account {
        guard let account = try await lock(session.accountID), account.status == .active,
            try await change.sessions.isLive(session.id, of: account.id)
        else { throw Refusal.sessionGone }
        return account
    }

    /// The account that has the identity, locked, and the identity as it is then.
    func lock(ownerOf id: IdentityID) async throws -> (account: Account, identity: Identity) {
        let owners = try await change.query(
            "SELECT account_id FROM identities WHERE identity_id = \(id)", as: AccountID.self)
        guard let owner = owners.first, let account = try await lock(owner),
            let identity = account.identities.first(where: { $0.id == id })
        else { throw Refusal.identityNotFound }
        return (account, identity)
    }
}
