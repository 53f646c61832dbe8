import Accounts
import Postgres

/// One row of ``columns``: an account joined with one of its identities, or with none.
struct AccountRow: Sendable {
    let account: Account
    let identity: Identity?

    /// The columns for a query that names the account `a` and its identities, outer-joined, `i`.
    static let columns: SQL = """
        a.account_id, a.email, \(proof), a.email_taken_at,
        (SELECT r.email FROM email_replacements r WHERE r.account_id = a.account_id),
        (SELECT r.due_at FROM email_replacements r WHERE r.account_id = a.account_id),
        a.display_name, a.status, a.created_at,
        a.password_hash IS NOT NULL, a.external_id,
        i.identity_id, i.provider, i.realm, i.subject, i.email, i.email_verified, i.is_private_email, i.created_at,
        i.last_sign_in_at, i.authorization_status, i.email_deliverable, i.blocked_at,
        COALESCE(i.block_reason, 'account-disabled'), i.credential_change_required_at, i.notify_sign_in
        """

    /// The degree of the address of the account `a`. Where there is none, none is verified, and `email_proof` is *stated*.
    static let proof: SQL = "CASE WHEN NOT a.email_verified THEN 'claimed' ELSE a.email_proof END"

    /// - Parameter first: where `columns` begin in the row.
    init(_ row: PostgresRow, from first: Int = 0) throws(PostgresError) {
        let (
            accountID, email, proof, emailTakenAt, replacement, replacementDueAt, displayName, status, createdAt,
            hasPassword, externalID, identityID, provider, realm, subject, identityEmail, identityEmailVerified,
            isPrivate, linkedAt,
            lastSignInAt, authorization, isDeliverable, blockedAt, blockReason, credentialChangeRequiredAt,
            isSignInNoticed
        ) = try row.decode(
            AccountID.self, EmailAddress?.self, EmailProof.self, Timestamp?.self, EmailAddress?.self, Timestamp?.self,
            String?.self, Account.Status.self, Timestamp.self, Bool.self, ExternalID?.self,
            IdentityID?.self, Provider?.self, Realm?.self, ProviderSubject?.self, EmailAddress?.self, Bool?.self,
            Bool?.self, Timestamp?.self, Timestamp?.self, Identity.Authorization?.self, Bool?.self, Timestamp?.self,
            String.self, Timestamp?.self, Bool?.self, from: first)
        // A name is cleaned again when it is read, by the current rules; if nothing is left, there is no name.
        self.account = Account(
            id: accountID, externalID: externalID, email: email, emailProof: proof, emailTakenAt: emailTakenAt,
            emailReplacement: replacement.flatMap { email in
                replacementDueAt.map { Account.Replacement(email: email, dueAt: $0) }
            },
            displayName: displayName.flatMap(DisplayName.init), status: status, createdAt: createdAt,
            hasPassword: hasPassword, identities: [])
        if let identityID, let provider, let realm, let subject, let identityEmailVerified, let isPrivate, let linkedAt,
            let authorization, let isSignInNoticed
        {
            self.identity = Identity(
                id: identityID, key: IdentityKey(provider: provider, realm: realm, subject: subject),
                email: identityEmail, isEmailVerified: identityEmailVerified, isPrivateEmail: isPrivate,
                linkedAt: linkedAt, lastSignInAt: lastSignInAt, authorization: authorization,
                isEmailDeliverable: isDeliverable,
                block: blockedAt.map { Identity.Block(since: $0, reason: blockReason) },
                credentialChangeRequiredAt: credentialChangeRequiredAt, isSignInNoticed: isSignInNoticed)
        } else {
            // In an outer join without an identity all of these columns are NULL; otherwise none is, as they are NOT
            // NULL.
            self.identity = nil
        }
    }

    /// The one account that the rows are about, with its identities in their order; `nil` for no rows.
    static func account(_ rows: [AccountRow]) -> Account? {
        rows.first?.account.with(identities: rows.compactMap(\.identity))
    }
}
