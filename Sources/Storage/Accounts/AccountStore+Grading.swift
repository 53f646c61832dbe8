package import Accounts
import Postgres

/// The degree of an account's address, and what is mailed by it.
extension AccountStore {
    package func raise(_ email: ProvenEmail, of id: AccountID, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            try await change.accounts.raise(email, of: id)
        }
    }

    /// Lowers a proven address to a stated one: a person with another subject at the provider has shown that they read the
    /// mailbox now.
    package func lower(_ email: EmailAddress, of id: AccountID, by call: Call) async throws {
        try await database.change(by: call) { change in
            let lowered = try await change.execute(
                """
                UPDATE accounts a
                SET \(AccountStore.grading(.stated, .otherSubject))
                WHERE a.account_id = \(id) AND a.email = \(email.text)
                    AND (\(AccountRow.proof)) = \(EmailProof.proven.rawValue)
                """)
            guard lowered == 1 else { return }
            change.announce(.emailChanged(.stated, by: .policy), of: id)
            try await change.record(.emailStated, accountID: id, reason: EmailProof.Source.otherSubject.rawValue)
        }
    }

    /// Mails the account's owner that an identity has signed in, which was in the account before they took it over; once.
    /// While mail is switched off, that waits for another sign-in.
    package func notifySignIn(by identity: Identity, of account: Account, by call: Call) async throws {
        guard call.origin.mailLanguage != nil else { return }
        try await database.change(by: call) { change in
            let isDue = try await change.execute(
                """
                UPDATE identities
                SET notify_sign_in = false
                WHERE identity_id = \(identity.id) AND notify_sign_in
                """)
            guard isDue == 1 else { return }
            try await change.mail.notify([account.mailbox], of: .signedIn, provider: identity.key.provider)
        }
    }

    /// The assignment, for a proof of the mailbox, that removes a password which came with an import and was never used: only
    /// the system before knows whose it is. One that a process of the release before has set is ours by its form, whatever
    /// the mark says. With its comma, before ``grading(_:_:)``.
    static let droppingUnusedPassword: SQL = """
        password_hash = CASE
            WHEN NOT password_is_unused OR password_hash LIKE '$scrypt$ln=%' OR email_proof = 'proven' AND email_verified
            THEN password_hash END,
        """

    /// The assignments by which an address that is not the account's yet is forgotten.
    static let droppingPendingEmail: SQL = "pending_email = NULL, pending_email_expires_at = NULL"

    /// The assignments that set the degree of an address, for `UPDATE accounts`. `email_verified` says whether it is at
    /// least *stated*, which ``AccountRow/proof`` reads.
    static func grading(_ proof: EmailProof, _ source: EmailProof.Source) -> SQL {
        """
        email_verified = \(proof >= .stated), email_proof = \(proof.rawValue), email_proof_source = \(source.rawValue),
            email_taken_at = NULL
        """
    }
}

extension Change.Accounts {
    /// Raises the degree of an account's address by the claim of an identity of it. What a successor at the provider has
    /// lowered stays: the former reader's token may be older than the succession.
    ///
    /// - Returns: whether it is still the account's address, and rested on less or on something else.
    @discardableResult
    func raise(_ email: ProvenEmail, of id: AccountID) async throws(PostgresError) -> Bool {
        let raised = try await change.query(
            """
            UPDATE accounts a
            SET \(email.proof == .proven ? AccountStore.droppingUnusedPassword : "")
                \(AccountStore.grading(email.proof, email.source))
            WHERE a.account_id = \(id) AND a.email = \(email.address.text)
                AND a.email_proof_source IS DISTINCT FROM \(EmailProof.Source.otherSubject.rawValue)
                AND (\(AccountRow.proof)) = ANY (\(EmailProof.allCases.filter { $0 < email.proof }.map(\.rawValue)))
            RETURNING a.password_hash IS NOT NULL,
                (SELECT b.password_hash IS NOT NULL FROM accounts b WHERE b.account_id = a.account_id)
            """, as: Bool.self, Bool.self)
        guard let (hasPassword, hadPassword) = raised.first else { return try await restate(email, of: id) }
        change.announce(.emailChanged(email.proof, by: .provider), of: id)
        if hadPassword, !hasPassword { change.announce(.passwordChanged(by: .policy), of: id) }
        try await change.record(
            email.proof == .proven ? .emailProven : .emailStated, accountID: id, reason: email.source.rawValue)
        return true
    }

    /// Writes down that the provider which runs the mailbox states an address that was proven otherwise.
    private func restate(_ email: ProvenEmail, of id: AccountID) async throws(PostgresError) -> Bool {
        guard email.source == .authoritativeProvider else { return false }
        return try await change.execute(
            """
            UPDATE accounts a
            SET email_proof_source = \(email.source.rawValue)
            WHERE a.account_id = \(id) AND a.email = \(email.address.text)
                AND (\(AccountRow.proof)) = \(EmailProof.proven.rawValue)
                AND a.email_proof_source IS DISTINCT FROM \(email.source.rawValue)
            """) == 1
    }
}
