import Accounts
import Postgres
import TestSupport

/// What lets somebody into an account, from when to when, and the degrees of its address: written down by triggers in the
/// walk's database, whatever the service makes of it. The numbers are in the order in which changes of one account took
/// effect, because each is made under a lock on the account.
enum WalkLedger {
    static func install(in database: Database) async throws {
        try await database.run(script: try DataFile("SQL/Ledger.sql").text)
    }

    /// Adds what the walkers have proven and entered since `since`, by the transactions that their audit records name.
    static func add(_ report: WalkReport, to database: Database, since: Timestamp) async throws {
        // Those of before were checked.
        _ = try await database.execute("DELETE FROM walk_entries")
        for claim in report.claims {
            _ = try await database.execute(
                "INSERT INTO walk_claims (subject, email) VALUES (\(claim.subject), \(claim.email))")
        }
        for voucher in report.vouchers {
            _ = try await database.execute(
                "INSERT INTO walk_vouchers (account_id, email) VALUES (\(voucher.accountID), \(voucher.email))")
        }
        for code in report.codes {
            _ = try await database.execute(
                """
                INSERT INTO walk_codes (account_id, email)
                SELECT DISTINCT e.account_id, \(code.email)
                FROM audit_events e
                WHERE e.request_id = \(code.requestID) AND e.created_at >= \(since) AND e.account_id IS NOT NULL
                    AND e.type IN ('signed_in', 'password_reset', 'email_verified', 'email_changed')
                """)
        }
        for entry in report.entries {
            _ = try await database.execute(
                """
                INSERT INTO walk_entries (account_id, number, entered_in, shown)
                SELECT w.account_id, max(w.added_number), w.added_in, \(entry.shown)
                FROM audit_events e
                JOIN walk_ways w ON w.account_id = e.account_id AND w.added_in = e.transaction_id::text::xid8
                WHERE e.request_id = \(entry.requestID) AND e.created_at >= \(since)
                    AND e.type IN ('signed_in', 'password_reset')
                    AND (NOT \(entry.isByToken) OR EXISTS (
                        SELECT FROM audit_events l
                        WHERE l.request_id = e.request_id AND l.created_at >= \(since) AND l.type = 'identity_linked'))
                GROUP BY w.account_id, w.added_in
                """)
        }
    }
}

/// What the walkers have done since the last check.
struct WalkReport: Sendable {
    /// A provider that runs the mailbox has stated the address of the subject.
    struct Claim: Sendable, Hashable {
        let subject: String
        let email: String
    }

    /// An administrator has asked for the address to become the account's.
    struct Voucher: Sendable, Hashable {
        let accountID: AccountID
        let email: String
    }

    /// A call that was answered as done has proven the address by a code.
    struct Code: Sendable {
        let requestID: String
        let email: String
    }

    /// A call that was answered as done has opened an account by its mailbox.
    struct Entry: Sendable {
        let requestID: String
        /// Whether it is a sign-in with a provider's token, which enters by the mailbox only if it links the identity.
        var isByToken = false
        /// The ticket that it spent.
        var ticket: String?
        /// The identities that the ticket's person has seen.
        var shown: [IdentityID] = []
    }

    var changes: [WalkChange] = []
    var faults: [String] = []
    var claims: Set<Claim> = []
    var vouchers: Set<Voucher> = []
    var codes: [Code] = []
    var entries: [Entry] = []
}
