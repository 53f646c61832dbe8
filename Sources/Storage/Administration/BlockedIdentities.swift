package import Accounts
package import Postgres

/// The identities whose provider has disabled the person's account, page by page in the order of their ids.
package struct BlockedIdentities: Sendable {
    private static let pageSize = 500

    let database: Database

    package init(database: Database) { self.database = database }

    /// Those behind an identity; empty at the end. All pages together read the table once.
    package func page(after last: BlockedIdentity?) async throws(PostgresError) -> [BlockedIdentity] {
        let isLater: SQL = if let last { "identity_id > \(last.id)" } else { "true" }
        return try await database.query(
            """
            SELECT identity_id, account_id, provider, realm, subject, blocked_at,
                COALESCE(block_reason, 'account-disabled')
            FROM identities
            WHERE blocked_at IS NOT NULL AND \(isLater)
            ORDER BY identity_id
            LIMIT \(Self.pageSize)
            """
        ) { row throws(PostgresError) in
            let (id, accountID, provider, realm, subject, since, reason) = try row.decode(
                IdentityID.self, AccountID.self, Provider.self, Realm.self, ProviderSubject.self, Timestamp.self,
                String.self)
            return BlockedIdentity(
                id: id, accountID: accountID, key: IdentityKey(provider: provider, realm: realm, subject: subject),
                block: Identity.Block(since: since, reason: reason))
        }
    }
}
