package import Accounts
package import Postgres

/// What a known or unknown identity's sign-in came to.
package enum IdentitySignIn: Sendable {
    case unknown
    case disabled(AccountID)
    /// The session of the opening has been inserted.
    case signedIn(Account, IdentityID)
}

/// `identities`: who a provider's subject is here.
package struct IdentityStore: Sendable {
    private let database: Database

    package init(database: Database) {
        self.database = database
    }

    /// Looks the identity up, touches it and opens its session, in one statement.
    ///
    /// `last_sign_in_at` is written when it is an hour old, and the provider's email when it changed, so that the usual
    /// sign-in writes nothing but its session. A token without an email changes nothing.
    package func signIn(
        _ identity: VerifiedIdentity, opening: SessionOpening
    ) async throws(PostgresError) -> IdentitySignIn {
        let email = identity.email
        let rows = try await database.query(
            """
            WITH found AS (
                SELECT i.identity_id, i.account_id, a.status
                FROM identities i
                JOIN accounts a ON a.account_id = i.account_id
                WHERE i.provider = \(identity.key.provider.rawValue) AND i.realm = \(identity.key.realm.text)
                    AND i.subject = \(identity.key.subject.text)
            ), presented (email, email_verified, is_private_email) AS (
                VALUES (\(email?.address.text)::text, \(email?.isVerified ?? false)::boolean,
                    \(email?.isPrivateRelay ?? false)::boolean)
            ), touched AS (
                UPDATE identities i
                SET last_sign_in_at = \(opening.now),
                    email = COALESCE(p.email, i.email),
                    email_verified = CASE WHEN p.email IS NULL THEN i.email_verified ELSE p.email_verified END,
                    is_private_email = CASE WHEN p.email IS NULL THEN i.is_private_email ELSE p.is_private_email END
                FROM found f, presented p
                WHERE i.identity_id = f.identity_id AND f.status = 'active'
                    AND (i.last_sign_in_at IS NULL OR i.last_sign_in_at <= \(opening.now.advanced(bySeconds: -3600))
                        OR (p.email IS NOT NULL
                            AND (i.email, i.email_verified, i.is_private_email) IS DISTINCT FROM
                                (p.email, p.email_verified, p.is_private_email)))
                RETURNING i.identity_id, i.email, i.email_verified, i.is_private_email, i.last_sign_in_at
            ), opened AS (
                \(opening.insertion(accountID: "f.account_id", identityID: "f.identity_id"))
                FROM found f
                WHERE f.status = 'active'
            )
            SELECT a.account_id, a.email, a.email_verified, a.display_name, a.status, a.created_at,
                a.password_hash IS NOT NULL,
                i.identity_id, i.provider, i.realm, i.subject,
                CASE WHEN t.identity_id IS NULL THEN i.email ELSE t.email END,
                COALESCE(t.email_verified, i.email_verified), COALESCE(t.is_private_email, i.is_private_email),
                i.created_at, COALESCE(t.last_sign_in_at, i.last_sign_in_at), i.authorization_status
            FROM found f
            JOIN accounts a ON a.account_id = f.account_id
            JOIN identities i ON i.account_id = f.account_id
            LEFT JOIN touched t ON t.identity_id = i.identity_id
            ORDER BY i.created_at, i.identity_id
            """
        ) { row throws(PostgresError) in try AccountRow(row) }
        guard let account = AccountRow.account(rows),
            let linked = account.identities.first(where: { $0.key == identity.key })
        else { return .unknown }
        return account.status == .active ? .signedIn(account, linked.id) : .disabled(account.id)
    }
}
