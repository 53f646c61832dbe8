package import Accounts
package import Postgres

/// The account that an address names, as far as password sign-in needs it.
package struct PasswordCredential: Sendable {
    package let accountID: AccountID
    package let passwordHash: PasswordHash?
    package let status: Account.Status
}

/// `accounts`: reading, registering, and the holder of an address.
///
/// ```
///   create, register ──▶ active ◀──disable, enable──▶ disabled ──┬─ delete ──▶ no row
///                          └─ delete; merged by a bind ──────────┘
///   email_proof:  claimed ─▶ stated ─▶ proven                  ``EmailProof``
/// ```
/// With the row go its identities, sessions, codes and mails; what has to be revoked stays in `outbox`.
package struct AccountStore: Sendable {
    let database: Database

    package init(database: Database) { self.database = database }

    package func account(_ id: AccountID) async throws(PostgresError) -> Account? {
        try await AccountStore.account(id, in: database)
    }

    static func account(_ id: AccountID, in session: some PostgresSession) async throws(PostgresError) -> Account? {
        try await account(where: "a.account_id = \(id)", in: session)
    }

    private static func account(
        where condition: SQL, in session: some PostgresSession, file: StaticString = #fileID, line: UInt = #line
    ) async throws(PostgresError) -> Account? {
        let rows = try await session.query(
            """
            SELECT \(AccountRow.columns)
            FROM accounts a
            LEFT JOIN identities i ON i.account_id = a.account_id
            WHERE \(condition)
            ORDER BY i.created_at, i.identity_id
            """, file: file, line: line
        ) { row throws(PostgresError) in try AccountRow(row) }
        return AccountRow.account(rows)
    }

    package func passwordCredential(for email: EmailAddress) async throws(PostgresError) -> PasswordCredential? {
        try await database.query(
            "SELECT account_id, password_hash, status FROM accounts WHERE email = \(email.text)", as: AccountID.self,
            PasswordHash?.self, Account.Status.self
        ).first.map(PasswordCredential.init)
    }

    /// Replaces a hash that came with an import by one of ours, of the same password, if it still is the account's. With that
    /// the account is its person's, and stays when the import is undone.
    ///
    /// - Returns: whether it was.
    package func replaceImportedPassword(
        _ old: PasswordHash, of id: AccountID, by new: PasswordHash
    ) async throws(PostgresError) -> Bool {
        let rows = try await database.query(
            """
            WITH replaced AS (
                UPDATE accounts
                SET password_hash = \(new), password_is_unused = false
                WHERE account_id = \(id) AND password_hash = \(old)
                RETURNING account_id
            ), touched AS (
                \(Self.touchingImport(of: "(SELECT account_id FROM replaced)"))
            )
            SELECT account_id FROM replaced
            """, as: AccountID.self)
        return rows.count == 1
    }

    /// The statement by which accounts that an import made stay when it is undone: their people have come. Most of what
    /// people do is in the trail, and marks them there.
    static func touchingImport(of accounts: SQL) -> SQL {
        "UPDATE imported_rows SET is_touched = true WHERE account_id IN \(accounts) AND NOT is_touched"
    }

    /// Marks a password that came with an import as used, where its hash stays.
    package func markImportedPasswordUsed(_ hash: PasswordHash, of id: AccountID) async throws(PostgresError) {
        try await database.execute(
            """
            UPDATE accounts
            SET password_is_unused = false
            WHERE account_id = \(id) AND password_hash = \(hash) AND password_is_unused
            """)
    }

    package func isEmailHeld(_ email: EmailAddress) async throws(PostgresError) -> Bool {
        try await database.query("SELECT EXISTS (SELECT FROM accounts WHERE email = \(email.text))", as: Bool.self)
            .first ?? false
    }

    /// The account that has the address.
    package func holder(of email: EmailAddress) async throws(PostgresError) -> Account? {
        try await AccountStore.holder(of: email, in: database)
    }

    static func holder(
        of email: EmailAddress, in session: some PostgresSession
    ) async throws(PostgresError) -> Account? {
        try await account(where: "a.email = \(email.text)", in: session)
    }

    /// Creates an account with a password and signs it in.
    package func register(
        _ id: AccountID, email: EmailAddress, passwordHash: PasswordHash, displayName: DisplayName?,
        newSession: NewSession,
        by call: Call
    ) async throws -> Account {
        try await database.change(by: call) { change in
            let isNew = try await change.accounts.insert(
                id, by: .signUp, email, .claimed, .registration, passwordHash, displayName)
            guard isNew else { throw Refusal.emailTaken }
            try await change.sessions.open(newSession, for: id)
            try await change.record(.accountCreated, accountID: id)
            guard let account = try await AccountStore.account(id, in: change) else { throw Refusal.accountNotFound }
            return account
        }
    }

    /// Gives a name to an account that has none, in a session that has to be live still: a name of before may be what its
    /// end takes away.
    ///
    /// - Returns: whether it was given.
    package func fillDisplayName(
        _ name: DisplayName, of id: AccountID, in session: SessionID, by call: Call
    ) async throws -> Bool {
        try await database.change(by: call) { change in
            guard try await change.accounts.lock(id) != nil, try await change.sessions.isLive(session, of: id) else {
                return false
            }
            return try await AccountStore.fillDisplayName(name, of: id, in: change)
        }
    }

    @discardableResult
    static func fillDisplayName(
        _ name: DisplayName, of id: AccountID, in session: some PostgresSession
    ) async throws(PostgresError) -> Bool {
        try await session.execute(
            "UPDATE accounts SET display_name = \(name.text) WHERE account_id = \(id) AND display_name IS NULL") == 1
    }
}

extension Change.Accounts {
    /// Writes an account with an address.
    ///
    /// - Returns: whether it was written: not where another account has the address.
    func insert(
        _ id: AccountID, by birth: AccountEvent.Birth, _ email: EmailAddress, _ proof: EmailProof,
        _ source: EmailProof.Source, _ passwordHash: PasswordHash?, _ displayName: DisplayName?
    ) async throws(PostgresError) -> Bool {
        let inserted = try await change.execute(
            """
            INSERT INTO accounts (account_id, email, email_verified, email_proof, email_proof_source, password_hash,
                display_name, created_at)
            VALUES (\(id), \(email.text), \(proof >= .stated), \(proof.rawValue), \(source.rawValue), \(passwordHash),
                \(displayName?.text), \(now))
            ON CONFLICT ON CONSTRAINT accounts_email_key DO NOTHING
            """)
        guard inserted == 1 else { return false }
        change.announce(.accountCreated(by: birth), of: id)
        return true
    }
}
