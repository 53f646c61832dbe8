package import Accounts
import Postgres

/// Where the rows of a run go: to the tables, or to temporary ones of a connection, which nobody else sees or waits for. Either
/// way the same statements look up, decide and write.
package struct ImportTables: Sendable {
    let accounts: SQL
    let identities: SQL
    let rows: SQL
    /// What is looked up in: the tables, and in a rehearsal what it has written too.
    fileprivate let allAccounts: SQL
    fileprivate let allIdentities: SQL
    fileprivate let allRows: SQL

    fileprivate static let real = ImportTables(
        accounts: "accounts", identities: "identities", rows: "imported_rows", allAccounts: "accounts",
        allIdentities: "identities", allRows: "imported_rows")

    fileprivate static let temporary = ImportTables(
        accounts: "rehearsed_accounts", identities: "rehearsed_identities", rows: "rehearsed_rows",
        allAccounts: both(
            "account_id, email, email_verified, email_proof, password_hash, status, external_id", "accounts",
            "rehearsed_accounts"),
        allIdentities: both("account_id, provider, realm, subject", "identities", "rehearsed_identities"),
        allRows: both("import_id, external_id_digest, account_id", "imported_rows", "rehearsed_rows"))

    private static func both(_ columns: SQL, _ table: SQL, _ rehearsed: SQL) -> SQL {
        "(SELECT \(columns) FROM \(table) UNION ALL SELECT \(columns) FROM \(rehearsed))"
    }
}

/// A rehearsal: batches are decided as in a run, and nothing but temporary tables is written. It reads the tables as they are
/// at each batch.
package struct ImportRehearsal: Sendable {
    private let connection: LeasedConnection

    fileprivate init(on connection: LeasedConnection) async throws(PostgresError) {
        self.connection = connection
        for (table, copy) in [
            ("accounts", "rehearsed_accounts"), ("identities", "rehearsed_identities"),
            ("imported_rows", "rehearsed_rows"),
        ] as [(SQL, SQL)] {
            try await connection.execute(
                "CREATE TEMPORARY TABLE \(copy) (LIKE \(table) INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)"
            )
        }
    }

    package func merge(_ batch: [ImportRow], of run: OpenImport, by call: Call) async throws -> [ImportResult] {
        // One transaction, as a batch of a run is. What fails ends with the connection.
        try await connection.execute("BEGIN")
        let results = try await ImportStore.merge(batch, of: run, into: .temporary, by: call, in: connection).results
        try await connection.execute("COMMIT")
        return results
    }
}

extension ImportStore {
    /// Runs the body with a rehearsal.
    package func rehearse<Result: Sendable>(
        _ body: @Sendable (ImportRehearsal) async throws -> Result
    ) async throws -> Result {
        try await database.withConnection { try await body(try await ImportRehearsal(on: $0)) }
    }

    /// Writes what becomes of a batch, all of it or nothing.
    package func merge(_ batch: [ImportRow], of run: OpenImport, by call: Call) async throws -> [ImportResult] {
        for _ in 0..<10 {
            do {
                return try await database.change(by: call) { change in
                    try await ImportStore.requireCurrent(run, in: change)
                    let (results, made) = try await ImportStore.merge(batch, of: run, into: .real, by: call, in: change)
                    for id in made { change.announce(.accountCreated(by: .import), of: id) }
                    return results
                }
            } catch let error as PostgresError
                where error.isUniqueViolation(of: "accounts_email_key")
                || error.isUniqueViolation(of: "identities_subject_key")
            {
                // Taken between the look-up and the write: the look-up finds the holder now.
                continue
            }
        }
        throw Refusal.emailTaken
    }

    /// - Returns: what became of each row, and the accounts that were made.
    fileprivate static func merge(
        _ batch: [ImportRow], of run: OpenImport, into tables: ImportTables, by call: Call,
        in session: some PostgresSession
    ) async throws -> (results: [ImportResult], made: [AccountID]) {
        var ground = try await ground(of: batch, of: run, in: tables, session)
        var results: [ImportResult] = []
        var written: [(id: AccountID, person: ImportedPerson)] = []
        for row in batch {
            let result = ground.decide(row, id: AccountID(now: call.now))
            results.append(result)
            if case .created(let id) = result.outcome, let person = result.person { written.append((id, person)) }
        }
        if !written.isEmpty { try await write(written, of: run, to: tables, by: call, in: session) }
        return (results, written.map(\.id))
    }

    private static func ground(
        of batch: [ImportRow], of run: OpenImport, in tables: ImportTables, _ session: some PostgresSession
    ) async throws -> ImportGround {
        let externalIDs = Array(Set(batch.compactMap(\.externalID)))
        let digests = try externalIDs.map { try run.digest(of: $0) }
        // By the order the index is taken, whatever the statistics know of a table that has just been filled.
        let rows = try await session.query(
            """
            SELECT d.position, r.account_id IS NOT NULL, a.account_id, a.email, a.status, a.password_hash
            FROM unnest(\(digests), \(externalIDs.map(\.text))) WITH ORDINALITY AS d (digest, external_id, position)
            LEFT JOIN LATERAL (
                SELECT r.account_id
                FROM \(tables.allRows) r
                WHERE r.import_id = \(run.id) AND r.external_id_digest = d.digest
                LIMIT 1
            ) r ON true
            LEFT JOIN LATERAL (
                SELECT a.account_id, a.email, a.status, a.password_hash
                FROM \(tables.allAccounts) a
                WHERE a.account_id = r.account_id
                LIMIT 1
            ) a ON true
            LEFT JOIN LATERAL (
                SELECT a.account_id
                FROM \(tables.allAccounts) a
                WHERE r.account_id IS NULL AND a.external_id = d.external_id
                ORDER BY a.account_id
                LIMIT 1
            ) s ON true
            WHERE r.account_id IS NOT NULL OR s.account_id IS NOT NULL
            """, as: Int.self, Bool.self, AccountID?.self, EmailAddress?.self, Account.Status?.self, PasswordHash?.self)
        // What came before is left alone, whatever it meets. PostgreSQL counts from 1.
        let before = Set(rows.filter { $0.1 }.map { externalIDs[$0.0 - 1] })
        let persons = batch.compactMap(\.person).filter { !before.contains($0.externalID) }
        let keys = Array(Set(persons.flatMap { $0.identities.map(\.key) }))
        let emails = Array(Set(persons.compactMap(\.email)))
        let holders = try await session.query(
            """
            SELECT k.position, i.account_id
            FROM unnest(\(keys.map(\.provider.rawValue)), \(keys.map(\.realm.text)), \(keys.map(\.subject.text)))
                WITH ORDINALITY AS k (provider, realm, subject, position)
            CROSS JOIN LATERAL (
                SELECT i.account_id
                FROM \(tables.allIdentities) i
                WHERE i.provider = k.provider AND i.realm = k.realm AND i.subject = k.subject
                LIMIT 1
            ) i
            """, as: Int.self, AccountID.self)
        let addresses = try await session.query(
            """
            SELECT e.position, a.account_id, a.proof, a.external_id
            FROM unnest(\(emails.map(\.text))) WITH ORDINALITY AS e (email, position)
            CROSS JOIN LATERAL (
                SELECT a.account_id, \(AccountRow.proof) AS proof, a.external_id
                FROM \(tables.allAccounts) a
                WHERE a.email = e.email
                LIMIT 1
            ) a
            """, as: Int.self, AccountID.self, EmailProof.self, ExternalID?.self)
        let imported = try await imported(
            addresses.compactMap { row in row.3.map { (id: row.1, externalID: $0) } }, by: run, in: tables, session)
        let linked = try await identities(of: rows.compactMap { $0.2 } + addresses.map { $0.1 }, in: tables, session)
        var known: [ExternalID: ImportGround.Standing?] = [:]
        var shared: Set<ExternalID> = []
        for (position, isKnown, account, email, status, hash) in rows {
            let externalID = externalIDs[position - 1]
            guard isKnown else {
                shared.insert(externalID)
                continue
            }
            known[externalID] = .some(
                account.map {
                    ImportGround.Standing(
                        id: $0, email: email, isDisabled: status == .disabled, passwordHash: hash,
                        identities: linked[$0] ?? [])
                })
        }
        return ImportGround(
            rows: known,
            identities: Dictionary(holders.map { (keys[$0.0 - 1], $0.1) }) { one, _ in one },
            addresses: Dictionary(
                addresses.map { position, id, proof, _ in
                    (
                        emails[position - 1],
                        ImportGround.Holder(
                            id: id, proof: proof, isOfThisImport: imported.contains(id), identities: linked[id] ?? [])
                    )
                }
            ) { one, _ in one },
            sharedIDs: shared)
    }

    /// Those of the accounts that a row of the import has become. A row is known by its digest, by which the index finds it.
    private static func imported(
        _ accounts: [(id: AccountID, externalID: ExternalID)], by run: OpenImport, in tables: ImportTables,
        _ session: some PostgresSession
    ) async throws -> Set<AccountID> {
        guard !accounts.isEmpty else { return [] }
        let digests = try accounts.map { try run.digest(of: $0.externalID) }
        let imported = try await session.query(
            """
            SELECT k.account_id
            FROM unnest(\(digests), \(accounts.map(\.id))) AS k (digest, account_id)
            CROSS JOIN LATERAL (
                SELECT r.account_id
                FROM \(tables.allRows) r
                WHERE r.import_id = \(run.id) AND r.external_id_digest = k.digest
                LIMIT 1
            ) r
            WHERE r.account_id = k.account_id
            """, as: AccountID.self)
        return Set(imported)
    }

    private static func identities(
        of accounts: [AccountID], in tables: ImportTables, _ session: some PostgresSession
    ) async throws -> [AccountID: Set<IdentityKey>] {
        guard !accounts.isEmpty else { return [:] }
        // OFFSET 0 keeps it a look-up by account, for the index.
        let rows = try await session.query(
            """
            SELECT i.account_id, i.provider, i.realm, i.subject
            FROM unnest(\(accounts)) AS k (account_id)
            CROSS JOIN LATERAL (
                SELECT i.account_id, i.provider, i.realm, i.subject
                FROM \(tables.allIdentities) i
                WHERE i.account_id = k.account_id
                OFFSET 0
            ) i
            """, as: AccountID.self, Provider.self, Realm.self, ProviderSubject.self)
        var linked: [AccountID: Set<IdentityKey>] = [:]
        for (account, provider, realm, subject) in rows {
            linked[account, default: []].insert(IdentityKey(provider: provider, realm: realm, subject: subject))
        }
        return linked
    }

    /// The one place where accounts are written that an import makes.
    private static func write(
        _ written: [(id: AccountID, person: ImportedPerson)], of run: OpenImport, to tables: ImportTables,
        by call: Call,
        in session: some PostgresSession
    ) async throws {
        let persons = written.map(\.person)
        let degrees = persons.map { $0.email == nil ? .stated : $0.emailProof }
        _ = try await session.execute(
            """
            INSERT INTO \(tables.accounts) (account_id, email, email_verified, email_proof, email_proof_source, password_hash,
                password_is_unused, display_name, status, disabled_reason, external_id, created_at)
            SELECT p.account_id, p.email, p.email IS NOT NULL AND p.proof <> \(EmailProof.claimed.rawValue), p.proof,
                CASE WHEN p.email IS NOT NULL THEN \(EmailProof.Source.imported.rawValue) END, p.password_hash,
                p.password_hash IS NOT NULL, p.display_name, CASE WHEN p.is_disabled THEN 'disabled' ELSE 'active' END,
                CASE WHEN p.is_disabled THEN 'import' END, p.external_id, p.created_at
            FROM unnest(\(written.map(\.id)), \(persons.map { $0.email?.text }), \(degrees.map(\.rawValue)),
                \(persons.map(\.passwordHash)), \(persons.map { $0.displayName?.text }), \(persons.map(\.isDisabled)),
                \(persons.map(\.externalID.text)), \(persons.map(\.createdAt))
            ) AS p (account_id, email, proof, password_hash, display_name, is_disabled, external_id, created_at)
            """)
        let identities = written.flatMap { id, person in person.identities.map { (account: id, identity: $0) } }
        if !identities.isEmpty {
            _ = try await session.execute(
                """
                INSERT INTO \(tables.identities) (identity_id, account_id, provider, realm, subject, email, email_verified,
                    is_private_email, created_at, not_before, auth_not_before)
                SELECT p.*, m.not_before, m.auth_not_before
                FROM unnest(\(identities.map { _ in IdentityID(now: call.now) }), \(identities.map(\.account)),
                    \(identities.map(\.identity.key.provider.rawValue)), \(identities.map(\.identity.key.realm.text)),
                    \(identities.map(\.identity.key.subject.text)), \(identities.map { $0.identity.email?.text }),
                    \(identities.map(\.identity.isEmailVerified)), \(identities.map(\.identity.isPrivateEmail)),
                    \(identities.map(\.identity.linkedAt))
                ) AS p (identity_id, account_id, provider, realm, subject, email, email_verified, is_private_email, created_at)
                CROSS JOIN LATERAL \(IdentityStore.remembered(of: "p.provider", "p.realm", "p.subject")) m
                """)
        }
        let digests = try persons.map { try run.digest(of: $0.externalID) }
        _ = try await session.execute(
            """
            INSERT INTO \(tables.rows) (import_id, external_id_digest, account_id, created_at)
            SELECT \(run.id), r.digest, r.account_id, \(call.now)
            FROM unnest(\(digests), \(written.map(\.id))) AS r (digest, account_id)
            """)
    }
}
