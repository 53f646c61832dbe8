package import Accounts
import Postgres

/// The degree of an account's address, and what is mailed by it.
extension AccountStore {
    /// The number of times that an address is taken which somebody else takes at the same moment.
    static let triesForAddress = 3

    /// Raises the degree of an account's address by the claim of an identity of it. What a successor at the provider has
    /// lowered stays: the former reader's token may be older than the succession.
    ///
    /// - Returns: whether it is still the account's address, and had a lower degree.
    @discardableResult
    static func raise(
        _ email: ProvenEmail, of id: AccountID, at now: Timestamp, from origin: ChangeOrigin,
        in transaction: Transaction
    ) async throws(PostgresError) -> Bool {
        let raised = try await transaction.execute(
            """
            UPDATE accounts a
            SET \(grading(email.proof, email.source))
            WHERE a.account_id = \(id) AND a.email = \(email.address.text)
                AND a.email_proof_source IS DISTINCT FROM \(EmailProof.Source.otherSubject.rawValue)
                AND (\(AccountRow.proof)) = ANY (\(EmailProof.allCases.filter { $0 < email.proof }.map(\.rawValue)))
            """)
        guard raised == 1 else { return false }
        try await AuditTrail.record(
            AuditEvent(
                email.proof == .proven ? .emailProven : .emailStated, from: origin, accountID: id,
                reason: email.source.rawValue), at: now, in: transaction)
        return true
    }

    package func raise(
        _ email: ProvenEmail, of id: AccountID, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> Bool {
        try await database.transaction(retries: 2) { transaction in
            try await AccountStore.raise(email, of: id, at: now, from: origin, in: transaction)
        }
    }

    /// Lowers a proven address to a stated one: a person with another subject at the provider has shown that they read the
    /// mailbox now.
    package func lower(
        _ email: EmailAddress, of id: AccountID, at now: Timestamp, from origin: ChangeOrigin
    ) async throws {
        try await database.transaction(retries: 2) { transaction in
            let lowered = try await transaction.execute(
                """
                UPDATE accounts a
                SET \(AccountStore.grading(.stated, .otherSubject))
                WHERE a.account_id = \(id) AND a.email = \(email.text)
                    AND (\(AccountRow.proof)) = \(EmailProof.proven.rawValue)
                """)
            guard lowered == 1 else { return }
            try await AuditTrail.record(
                AuditEvent(
                    .emailStated, from: origin, accountID: id, reason: EmailProof.Source.otherSubject.rawValue),
                at: now, in: transaction)
        }
    }

    /// Mails the account's owner that an identity has signed in, which was in the account before they took it over; once.
    /// While mail is switched off, that waits for another sign-in.
    package func notifySignIn(
        by identity: Identity, of account: Account, at now: Timestamp, from origin: ChangeOrigin
    ) async throws {
        guard origin.mailLanguage != nil else { return }
        try await database.transaction(retries: 2) { transaction in
            let isDue = try await transaction.execute(
                """
                UPDATE identities
                SET notify_sign_in = false
                WHERE identity_id = \(identity.id) AND notify_sign_in
                """)
            guard isDue == 1 else { return }
            try await MailStore.notify(
                [account.mailbox], of: .signedIn, provider: identity.key.provider, from: origin, at: now,
                in: transaction)
        }
    }

    /// The assignments that set the degree of an address, for `UPDATE accounts`. `email_verified` is for processes of the
    /// release before, which know no degrees.
    static func grading(_ proof: EmailProof, _ source: EmailProof.Source) -> SQL {
        """
        email_verified = \(proof >= .stated), email_proof = \(proof.rawValue), email_proof_source = \(source.rawValue),
            email_taken_at = NULL
        """
    }
}
