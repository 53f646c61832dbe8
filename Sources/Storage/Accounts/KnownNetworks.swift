package import Accounts
package import Postgres

/// The networks that an account is used from: it signed in from there within 90 days, or a live session was last refreshed
/// there. They keep allowances of their own (docs/decisions/0018-known-networks.md).
///
/// They are looked up in what is recorded of sign-ins anyway, and only when a right secret or a mail depends on it. What
/// was there before the mailbox's reader cleared the account or took it over, or reset its password, or before an
/// administrator replaced its address, doesn't count.
package struct KnownNetworks: Sendable {
    let database: Database

    /// - Parameters:
    ///   - network: an IPv4 /24 or IPv6 /64, as the audit trail has it.
    ///   - account: `nil` knows no network.
    package func isKnown(_ network: Network, to account: AccountID?, by call: Call) async throws(PostgresError) -> Bool
    {
        try await found("SELECT a.account_id FROM accounts a WHERE a.account_id = \(account)", network, by: call)
    }

    /// The same for the account that has proven the address. A claimed address doesn't count: an attacker could
    /// register the victim's and sign in to it from any network. Without an address the query does part of the work.
    func isKnown(
        _ network: Network, toHolderOf email: EmailAddress?, by call: Call
    ) async throws(PostgresError) -> Bool {
        let proven = EmailProof.proven.rawValue
        return try await found(
            "SELECT a.account_id FROM accounts a WHERE a.email = \(email?.text) AND (\(AccountRow.proof)) = \(proven)",
            network, by: call)
    }

    private func found(_ account: SQL, _ network: Network, by call: Call) async throws(PostgresError) -> Bool {
        let rows = try await database.query(
            """
            SELECT EXISTS (
                SELECT FROM (\(account)) a (account_id)
                WHERE \(KnownNetworks.condition(network: "\(network)", by: call)))
            """, as: Bool.self)
        return rows.first ?? false
    }

    /// On the account `a.account_id`.
    ///
    /// - Parameter network: as an expression.
    static func condition(network: SQL, by call: Call) -> SQL {
        let since = call.now.advanced(bySeconds: -Lifetimes.knownNetworkSeconds)
        return """
            (EXISTS (
                SELECT FROM audit_events e
                WHERE e.account_id = a.account_id AND e.created_at > \(since)
                    AND e.type IN ('signed_in', 'password_reset') AND e.network = \(network)
                    AND NOT EXISTS (
                        SELECT FROM audit_events c
                        WHERE c.account_id = a.account_id AND c.created_at > e.created_at
                            AND (c.type IN ('password_reset', 'email_replaced')
                                OR (c.type = 'email_proven' AND COALESCE(c.reason, 'taken_over') = 'taken_over'))))
            OR EXISTS (
                SELECT FROM sessions s
                WHERE s.account_id = a.account_id AND s.ended_at IS NULL AND s.expires_at > \(call.now)
                    AND s.rotation_network = \(network)))
            """
    }
}
