package import Accounts
package import Postgres

extension AccountSearch {
    /// The addresses of those accounts that have one. Deleted ones are not there.
    package func addresses(of ids: [AccountID]) async throws(PostgresError) -> [AccountID: EmailAddress] {
        guard !ids.isEmpty else { return [:] }
        let rows = try await database.query(
            """
            SELECT account_id, email
            FROM accounts
            WHERE account_id = ANY (\(ids)) AND email IS NOT NULL
            """, as: AccountID.self, EmailAddress.self)
        return Dictionary(rows) { first, _ in first }
    }

    /// The mails that are shown.
    private static let mailLimit = 20

    package func details(of account: Account) async throws(PostgresError) -> AccountDetails {
        let grants = try await database.query(
            """
            SELECT identity_id, client_id, created_at
            FROM provider_grants
            WHERE identity_id = ANY (\(account.identities.map(\.id)))
            ORDER BY created_at, grant_id
            """, as: IdentityID.self, ProviderClientID.self, Timestamp.self
        ).map(HeldGrant.init)
        let addresses = Set(account.mailboxes.compactMap { $0?.text } + [account.email?.text].compactMap(\.self))
        let mails = try await database.query(
            """
            SELECT \(OutboxSearch.columns)
            FROM outbox
            WHERE recipient = ANY (\(Array(addresses))) AND kind = 'mail'
            ORDER BY message_id DESC
            LIMIT \(Self.mailLimit)
            """, as: OutboxSearch.record)
        return AccountDetails(grants: grants, mails: mails)
    }

    /// The account that a session is of, also of one that has ended and is kept.
    package func account(of id: SessionID) async throws(PostgresError) -> AccountID? {
        try await database.query("SELECT account_id FROM sessions WHERE session_id = \(id)", as: AccountID.self).first
    }
}
