package import Accounts
package import Postgres

/// The moment before which an identity's tokens count no more. It is compared with a token's `iat`: a provider renews
/// tokens without asking the person again, so one with an old `auth_time` may be new.
///
/// A provider that reports that the sessions there are over has taken back more, every authentication until then, and sets
/// `auth_not_before` besides, which is compared with `auth_time`.
extension IdentityStore {
    /// ``ProofCutoff/admits(issuedAt:authenticatedAt:)`` denied, for the statement that decides by itself: the condition on
    /// `identities`, named `i`, that a proof meets which counts no more; null when nothing was ever refused.
    static func isOutdated(issuedAt: SQL, authenticatedAt: SQL) -> SQL {
        """
        (\(issuedAt) < date_trunc('second', i.not_before)
            OR \(authenticatedAt) < date_trunc('second', i.auth_not_before))
        """
    }

    /// Both moments of a subject that gets an identity, a `FROM` item of one row: by the events that were kept of it, and by
    /// an identity that had it before; null when there was neither. A withdrawn consent takes back no authentication.
    ///
    /// For many subjects it is two index look-ups each, whatever the planner estimates of the tables' sizes.
    static func remembered(of provider: SQL, _ realm: SQL, _ subject: SQL) -> SQL {
        """
        (
            SELECT GREATEST(max(e.occurred_at), (
                    SELECT r.not_before FROM refused_tokens r
                    WHERE r.subject_digest = \(subjectDigest(of: provider, realm, subject))
                )) AS not_before,
                max(e.occurred_at) FILTER (WHERE e.kind IN (
                    \(ProviderEvent.Kind.sessionsRevoked.rawValue), \(ProviderEvent.Kind.accountDisabled.rawValue)
                )) AS auth_not_before
            FROM provider_events e
            WHERE e.subject = \(subject) AND e.provider = \(provider) AND e.realm = \(realm)
                AND e.kept_until IS NOT NULL
        )
        """
    }

    static func remembered(of key: IdentityKey) -> SQL {
        remembered(of: "\(key.provider.rawValue)", "\(key.realm.text)", "\(key.subject.text)")
    }

    static func subjectDigest(of provider: SQL, _ realm: SQL, _ subject: SQL) -> SQL {
        "sha256(convert_to(\(provider) || ' ' || \(realm) || ' ' || \(subject), 'UTF8'))"
    }
}

extension AccountStore {
    /// Deletes what refuses no token any more.
    package func deleteRefusedTokens(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "refused_tokens", where: "not_before < \(time)", limit: limit)
    }
}

extension Change.Identities {
    /// Refuses, from now on, the tokens that providers issued before `now` for the account's identities, whether they are
    /// posted again or for the first time; and those of other identities as a proof of the account by its address. A whole
    /// second decides, as `iat` has no fraction. The codes that were mailed to its proven address end.
    ///
    /// The account and its identities have to be locked (`Change.Accounts.lock`): otherwise a sign-in that is under way may
    /// open a session that the same transaction doesn't end.
    func refuseTokens(issuedBefore now: Timestamp, of accountID: AccountID) async throws(PostgresError) {
        try await refuseProofs(issuedBefore: now, of: accountID)
        _ = try await change.execute(
            "UPDATE identities SET not_before = GREATEST(not_before, \(now)) WHERE account_id = \(accountID)")
        try await change.emailCodes.end(mailedTo: accountID)
    }

    /// Refuses tokens and tickets from before that moment as a proof of the account by its address: those of an identity that is
    /// unlinked, too, which would link it again. The identities that stay go on signing in by theirs.
    func refuseProofs(issuedBefore time: Timestamp, of accountID: AccountID) async throws(PostgresError) {
        _ = try await change.execute(
            """
            UPDATE accounts
            SET tokens_not_before = GREATEST(tokens_not_before, \(time))
            WHERE account_id = \(accountID)
            """)
    }

    /// Whether a token or ticket of that time may lead to the account by its address, without a proof of the account.
    func isCurrent(_ issuedAt: Timestamp, for accountID: AccountID) async throws(PostgresError) -> Bool {
        try await AccountStore.isCurrent(issuedAt, for: accountID, in: change)
    }
}
