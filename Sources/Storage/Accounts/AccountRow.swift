import Accounts
import Postgres

/// One row of ``columns``: an account joined with one of its identities, or with none.
struct AccountRow: Sendable {
    let account: Account
    let identity: Identity?

    /// The columns for a query that names the account `a` and its identities, outer-joined, `i`.
    static let columns: SQL = """
        a.account_id, a.email, \(proof), a.email_proof_source, a.email_taken_at,
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
        var columns = row.columns(from: first)
        let accountID: AccountID = try columns.next()
        let email: EmailAddress? = try columns.next()
        let proof: EmailProof = try columns.next()
        let proofSource: String? = try columns.next()
        let emailTakenAt: Timestamp? = try columns.next()
        let replacement: EmailAddress? = try columns.next()
        let replacementDueAt: Timestamp? = try columns.next()
        let displayName: String? = try columns.next()
        let status: Account.Status = try columns.next()
        let createdAt: Timestamp = try columns.next()
        let hasPassword: Bool = try columns.next()
        let externalID: ExternalID? = try columns.next()
        // A source that only a newer release knows is none here. A name is cleaned again when it is read, by the current rules;
        // if nothing is left, there is no name.
        self.account = Account(
            id: accountID, externalID: externalID, email: email, emailProof: proof,
            emailProofSource: proofSource.flatMap { EmailProof.Source(rawValue: $0) }, emailTakenAt: emailTakenAt,
            emailReplacement: replacement.flatMap { email in
                replacementDueAt.map { Account.Replacement(email: email, dueAt: $0) }
            },
            displayName: displayName.flatMap(DisplayName.init), status: status, createdAt: createdAt,
            hasPassword: hasPassword, identities: [])
        self.identity = try Identity(joined: &columns)
    }

    /// The one account that the rows are about, with its identities in their order; `nil` for no rows.
    static func account(_ rows: [AccountRow]) -> Account? {
        guard var account = rows.first?.account else { return nil }
        account.identities = rows.compactMap(\.identity)
        return account
    }
}

extension Identity {
    /// Reads the columns of an identity in an outer join: `nil` where they are of none, and so all NULL.
    fileprivate init?(joined columns: inout PostgresColumns) throws(PostgresError) {
        guard let id = try columns.next(IdentityID?.self) else { return nil }
        let key = IdentityKey(provider: try columns.next(), realm: try columns.next(), subject: try columns.next())
        let email: EmailAddress? = try columns.next()
        let isEmailVerified: Bool = try columns.next()
        let isPrivate: Bool = try columns.next()
        let linkedAt: Timestamp = try columns.next()
        let lastSignInAt: Timestamp? = try columns.next()
        let authorization: Identity.Authorization = try columns.next()
        let isDeliverable: Bool? = try columns.next()
        let blockedAt: Timestamp? = try columns.next()
        let blockReason: String = try columns.next()
        let credentialChangeRequiredAt: Timestamp? = try columns.next()
        self.init(
            id: id, key: key, email: email, isEmailVerified: isEmailVerified, isPrivateEmail: isPrivate,
            linkedAt: linkedAt, lastSignInAt: lastSignInAt, authorization: authorization,
            isEmailDeliverable: isDeliverable, block: blockedAt.map { Identity.Block(since: $0, reason: blockReason) },
            credentialChangeRequiredAt: credentialChangeRequiredAt, isSignInNoticed: try columns.next())
    }
}
