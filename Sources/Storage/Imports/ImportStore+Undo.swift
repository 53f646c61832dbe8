package import Accounts
import Postgres

/// An account that stays when its import is undone: something else has touched it.
package struct KeptAccount: Sendable {
    package let id: AccountID
    package let externalID: String?
}

/// What a page of an undo has done.
package struct UndonePage: Sendable {
    package let removed: Int
    package let kept: [KeptAccount]
    /// Where the next page begins; `nil` behind the last one.
    package let next: [UInt8]?
}

extension ImportStore {
    /// Of an undo.
    private static let rowsPerPage = 500

    /// Removes those accounts of a page of the import's rows that nothing but the import has touched, and forgets the rows. How
    /// many went is kept with the import until the undo is recorded.
    ///
    /// - Parameter isRehearsal: says what would be done, and does nothing.
    package func undo(
        _ run: OpenImport, after digest: [UInt8]?, isRehearsal: Bool, by call: Call
    ) async throws -> UndonePage {
        try await database.change(by: call) { change in
            // Before the accounts, as a run has it.
            if !isRehearsal {
                _ = try await change.execute("SELECT FROM imports WHERE import_id = \(run.id) FOR UPDATE")
            }
            let rows = try await change.query(
                """
                SELECT r.external_id_digest, r.account_id
                FROM imported_rows r
                WHERE r.import_id = \(run.id) AND r.external_id_digest > \(digest ?? [])
                ORDER BY r.external_id_digest
                LIMIT \(Self.rowsPerPage)
                """, as: [UInt8].self, AccountID.self)
            let ids = rows.map(\.1)
            // A sign-in waits for the lock, and finds nobody afterwards; one that was first has made its mark by then.
            if !isRehearsal { try await change.accounts.lock("a.account_id = ANY (\(ids))") }
            let marks = try await change.query(
                """
                SELECT r.account_id,
                    -- The grant of a ticket that its person gave up passes to the identity, which the trail doesn't say.
                    r.is_touched OR EXISTS (
                        SELECT FROM identities i
                        JOIN provider_grants g ON g.identity_id = i.identity_id
                        WHERE i.account_id = r.account_id),
                    a.account_id IS NOT NULL, a.external_id
                FROM imported_rows r
                LEFT JOIN accounts a ON a.account_id = r.account_id
                WHERE r.import_id = \(run.id) AND r.external_id_digest = ANY (\(rows.map(\.0)))
                ORDER BY r.external_id_digest
                """, as: AccountID.self, Bool.self, Bool.self, String?.self)
            let removed = marks.filter { !$0.1 && $0.2 }.map(\.0)
            if !isRehearsal, !removed.isEmpty {
                let deleted = try await change.query(
                    "DELETE FROM accounts WHERE account_id = ANY (\(removed)) RETURNING account_id, external_id",
                    as: AccountID.self, ExternalID?.self)
                for (id, externalID) in deleted {
                    change.announce(.accountDeleted(by: .admin, .importUndone), of: id, externalID: externalID)
                }
                _ = try await change.execute(
                    """
                    DELETE FROM imported_rows
                    WHERE import_id = \(run.id) AND external_id_digest = ANY (\(rows.map(\.0)))
                        AND account_id = ANY (\(removed))
                    """)
                // In the place of the last run's counts, which hold no longer.
                _ = try await change.execute(
                    """
                    UPDATE imports
                    SET outcomes = \([ImportStore.undone]), outcome_counts = ARRAY[
                            \(removed.count) + CASE WHEN \(ImportStore.isUndone) THEN outcome_counts[1] ELSE 0 END]
                    WHERE import_id = \(run.id)
                    """)
            }
            return UndonePage(
                removed: removed.count,
                kept: marks.filter { $0.1 && $0.2 }.map { KeptAccount(id: $0.0, externalID: $0.3) },
                next: rows.count < Self.rowsPerPage ? nil : rows.last?.0)
        }
    }

    /// Ends an undo: forgets the import if nothing of it is left, and records what was done.
    ///
    /// - Parameters:
    ///   - kept: how many accounts stay.
    ///   - state: how it ends: finished, stopped or failed.
    package func finishUndo(
        _ run: OpenImport, of name: ImportName, kept: Int, as state: ImportRecord.State, by call: Call
    ) async throws {
        let marks = state == .finished ? [] : [state.mark]
        let ends = ImportRecord.State.allCases.map(\.mark)
        try await database.change(by: call) { change in
            let removed = try await ImportStore.takeUndone(name, in: change) ?? 0
            // The counts of the last run stay where nothing was removed. How it, or an undo before this one, has ended does not.
            _ = try await change.execute(
                """
                UPDATE imports i
                SET (outcomes, outcome_counts) = (
                    SELECT COALESCE(array_agg(o.outcome ORDER BY o.number), '{}') || \(marks),
                        COALESCE(array_agg(o.count ORDER BY o.number), '{}') || \(marks.map { _ in 1 })
                    FROM unnest(i.outcomes, i.outcome_counts) WITH ORDINALITY o (outcome, count, number)
                    WHERE o.outcome <> ALL (\(ends)))
                WHERE i.import_id = \(run.id)
                """)
            _ = try await change.execute(
                """
                DELETE FROM imports
                WHERE import_id = \(run.id)
                    AND NOT EXISTS (SELECT FROM imported_rows r WHERE r.import_id = \(run.id))
                """)
            let end = state == .finished ? "" : "; \(state.rawValue)"
            try await change.record(.importUndone, reason: "\(name): \(removed) removed, \(kept) kept\(end)")
        }
    }

    /// The only count of an import while an undo of it is not recorded yet: the accounts that it has removed.
    private static let undone = "undone"

    /// Whether an undo of the import is not recorded yet.
    static var isUndone: SQL { "outcomes = \([undone])" }

    /// Takes what an undo has removed, for the one record of it.
    ///
    /// - Returns: `nil` where none is to be recorded.
    static func takeUndone(_ name: ImportName, in change: Change) async throws -> Int? {
        let counts = try await change.query(
            "SELECT outcome_counts[1] FROM imports WHERE name = \(name.text) AND \(isUndone) FOR UPDATE", as: Int.self)
        guard let removed = counts.first else { return nil }
        _ = try await change.execute(
            "UPDATE imports SET outcomes = '{}', outcome_counts = '{}' WHERE name = \(name.text)")
        return removed
    }
}
