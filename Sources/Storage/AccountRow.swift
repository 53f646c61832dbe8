import Accounts
import Postgres

/// One row of `accountColumns`: an account beside one of its identities, or beside none.
struct AccountRow: Sendable {
    let account: Account
    let identity: Identity?

    /// For a query that names the account `a` and its identities, outer-joined, `i`.
    static let columns: SQL = """
        a.account_id, a.email, a.email_verified, a.display_name, a.status, a.created_at, a.password_hash IS NOT NULL,
        i.identity_id, i.provider, i.realm, i.subject, i.email, i.email_verified, i.is_private_email, i.created_at,
        i.last_sign_in_at, i.authorization_status, i.email_deliverable, i.blocked_at
        """

    /// - Parameter first: where `columns` begin in the row.
    init(_ row: PostgresRow, from first: Int = 0) throws(PostgresError) {
        let (
            accountID, email, emailVerified, displayName, status, createdAt, hasPassword,
            identityID, provider, realm, subject, identityEmail, identityEmailVerified, isPrivate, linkedAt,
            lastSignInAt, authorization, isDeliverable, blockedAt
        ) = try row.decode(
            AccountID.self, String?.self, Bool.self, String?.self, String.self, Timestamp.self, Bool.self,
            IdentityID?.self, String?.self, String?.self, String?.self, String?.self, Bool?.self, Bool?.self,
            Timestamp?.self, Timestamp?.self, String?.self, Bool?.self, Timestamp?.self, from: first)
        self.account = Account(
            id: accountID, email: email.flatMap(EmailAddress.init), isEmailVerified: emailVerified,
            displayName: displayName.flatMap(DisplayName.init), status: Account.Status(rawValue: status) ?? .disabled,
            createdAt: createdAt, hasPassword: hasPassword, identities: [])
        if let identityID, let provider = provider.flatMap(Provider.init), let realm, let linkedAt,
            let subject = subject.flatMap(ProviderSubject.init)
        {
            self.identity = Identity(
                id: identityID, key: IdentityKey(provider: provider, realm: Realm(realm), subject: subject),
                email: identityEmail.flatMap(EmailAddress.init), isEmailVerified: identityEmailVerified ?? false,
                isPrivateEmail: isPrivate ?? false, linkedAt: linkedAt, lastSignInAt: lastSignInAt,
                authorization: authorization.flatMap(Identity.Authorization.init) ?? .none,
                isEmailDeliverable: isDeliverable,
                isBlocked: blockedAt != nil)
        } else {
            self.identity = nil
        }
    }

    /// The one account that the rows are about, with its identities in their order; `nil` for no rows.
    static func account(_ rows: [AccountRow]) -> Account? {
        guard let account = rows.first?.account else { return nil }
        return Account(
            id: account.id, email: account.email, isEmailVerified: account.isEmailVerified,
            displayName: account.displayName, status: account.status, createdAt: account.createdAt,
            hasPassword: account.hasPassword, identities: rows.compactMap(\.identity))
    }
}
