import Accounts
import Postgres

/// The operations that all kinds of rows of `outbox` share: claim, postpone, give up, count.
///
/// A claim ends by the database's clock: to a process whose clock is ahead what another one is at would be free.
struct Outbox: Sendable {
    enum Kind: String {
        case revocation
        case mail
    }

    let database: Database
    let kind: Kind

    /// The query of the ids of rows that may be claimed, which locks them: pending ones of this kind that no other process
    /// holds, those first that have been due for longest.
    func claimable(_ condition: SQL, limit: Int) -> SQL {
        Outbox.claimable("kind = \(kind.rawValue) AND \(condition)", inOrderOf: "next_attempt_at", limit: limit)
    }

    /// The same of rows of any kind that the condition admits, in another order.
    static func claimable(_ condition: SQL, inOrderOf order: SQL, limit: Int) -> SQL {
        """
        SELECT message_id
        FROM outbox
        WHERE status = 'pending' AND \(condition) AND \(isFree)
        ORDER BY \(order)
        LIMIT \(limit)
        FOR NO KEY UPDATE SKIP LOCKED
        """
    }

    /// The condition that no process holds a row.
    static let isFree: SQL = "(claimed_until IS NULL OR claimed_until <= clock_timestamp())"

    /// `WITH due AS (…), claimed AS (…)`, before a statement that reads `claimed`: claims the rows of `due`. Each claim has
    /// an attempt number of its own.
    ///
    /// - Parameters:
    ///   - due: a query of ``claimable(_:limit:)``, or one made of several.
    ///   - lease: the seconds after which the rows are free again.
    func claiming(_ due: SQL, lease: Int64) -> SQL {
        """
        WITH due AS MATERIALIZED (
            \(due)
        ), claimed AS (
            UPDATE outbox o
            SET claimed_until = clock_timestamp() + \(lease) * interval '1 second', attempts = o.attempts + 1
            FROM due
            WHERE o.message_id = due.message_id
            RETURNING o.message_id, o.attempts, o.failures, o.provider, o.realm, o.subject, o.identity_id, o.template,
                o.recipient, o.language, o.client_name, o.code_id, o.known_network, o.expires_at
        )
        """
    }

    /// The condition that a claim's row is pending, and of no later claim: only the newest may write the outcome.
    static func isHeld<Message>(_ id: Identifier<Message>, attempt: Int) -> SQL {
        "message_id = \(id) AND attempts = \(attempt) AND status = 'pending'"
    }

    /// The assignments to a row that is given up, which erase whom a mail was for and who has asked for it.
    static func givingUp(_ error: String, by call: Call) -> SQL {
        """
        status = 'failed', recipient = NULL, known_network = NULL, asked_from = NULL, claimed_until = NULL,
            last_error = \(error), finished_at = \(call.now)
        """
    }

    /// Schedules the next attempt after one that failed.
    func postpone<Message>(
        _ id: Identifier<Message>, attempt: Int, error: String, until nextAttempt: Timestamp
    ) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE outbox
            SET claimed_until = NULL, failures = failures + 1, next_attempt_at = \(nextAttempt),
                turn_at = GREATEST(turn_at, \(nextAttempt)), last_error = \(error)
            WHERE \(Outbox.isHeld(id, attempt: attempt))
            """)
    }

    /// Gives up rows that were claimed and can't be read.
    ///
    /// - Returns: those that are given up, and whose account each is of; another process may have claimed one since.
    func giveUp(
        _ rows: [UnreadableRow], by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) -> [(RowID, AccountID?)] {
        guard !rows.isEmpty else { return [] }
        return try await session.query(
            """
            UPDATE outbox o
            SET \(Outbox.givingUp(UnreadableRow.reason, by: call))
            FROM unnest(\(rows.map(\.id)), \(rows.map { $0.attempt ?? 0 })) AS u (id, attempt)
            WHERE o.message_id = u.id AND o.attempts = u.attempt AND o.status = 'pending'
            RETURNING o.message_id, o.account_id
            """, as: RowID.self, AccountID?.self)
    }

    /// - Parameter counted: the condition of the pending rows of which it is the oldest.
    func backlog(oldestOf counted: SQL = "true") async throws(PostgresError) -> OutboxBacklog {
        try await database.query(
            """
            SELECT p.count, p.oldest, f.count, f.latest
            FROM (
                SELECT count(*), min(created_at) FILTER (WHERE \(counted)) AS oldest
                FROM outbox
                WHERE status = 'pending' AND kind = \(kind.rawValue)
            ) p, (
                SELECT count(*), max(finished_at) AS latest
                FROM outbox
                WHERE status = 'failed' AND kind = \(kind.rawValue)
            ) f
            """, as: Int.self, Timestamp?.self, Int.self, Timestamp?.self
        ).first.map(OutboxBacklog.init) ?? OutboxBacklog(pending: 0, oldest: nil)
    }
}
