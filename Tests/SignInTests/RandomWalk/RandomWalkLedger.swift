import Accounts
import Postgres

/// What lets somebody into an account, from when to when, and the degrees of its address: written down by triggers in the
/// walk's database, whatever the service makes of it. The numbers are in the order in which changes of one account took
/// effect, because each is made under a lock on the account.
enum WalkLedger {
    static func install(in database: Database) async throws {
        for statement in tables + functions + triggers { _ = try await database.execute(statement) }
    }

    private static let tables: [SQL] = [
        "CREATE SEQUENCE walk_order",
        // Identities, passwords, sessions and changes of address that are under way.
        """
        CREATE TABLE walk_ways (
            account_id uuid NOT NULL,
            kind text NOT NULL,
            id uuid NOT NULL,
            subject text,
            added_number bigint NOT NULL DEFAULT nextval('walk_order'),
            added_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
            removed_number bigint,
            removed_in xid8)
        """,
        "CREATE INDEX ON walk_ways (account_id)",
        "CREATE INDEX ON walk_ways (id)",
        """
        CREATE TABLE walk_degrees (
            account_id uuid NOT NULL,
            proof text NOT NULL,
            number bigint NOT NULL DEFAULT nextval('walk_order'),
            written_in xid8 NOT NULL DEFAULT pg_current_xact_id())
        """,
        "CREATE INDEX ON walk_degrees (account_id, number)",
        // A mailbox opened the account; its reader had been shown these identities.
        """
        CREATE TABLE walk_entries (
            account_id uuid NOT NULL,
            number bigint NOT NULL,
            entered_in xid8 NOT NULL,
            shown uuid[] NOT NULL)
        """,
        // Addresses that somebody in the account has typed a code of.
        "CREATE TABLE walk_codes (account_id uuid NOT NULL, email text NOT NULL)",
        // Addresses that a provider which runs the mailbox has stated.
        "CREATE TABLE walk_claims (subject text NOT NULL, email text NOT NULL)",
        // Addresses that an administrator has vouched for.
        "CREATE TABLE walk_vouchers (account_id uuid NOT NULL, email text NOT NULL)",
        // Identities that their provider has disabled, and since when.
        "CREATE TABLE walk_blocks (id uuid NOT NULL, number bigint NOT NULL DEFAULT nextval('walk_order'))",
    ]

    private static let functions: [SQL] = [
        """
        CREATE FUNCTION walk_add(account uuid, way text, way_id uuid, way_subject text) RETURNS void LANGUAGE sql AS $$
            INSERT INTO walk_ways (account_id, kind, id, subject) VALUES (account, way, way_id, way_subject)
        $$
        """,
        """
        CREATE FUNCTION walk_remove(account uuid, way text, way_id uuid) RETURNS void LANGUAGE sql AS $$
            UPDATE walk_ways
            SET removed_number = nextval('walk_order'), removed_in = pg_current_xact_id()
            WHERE id = way_id AND kind = way AND account_id = account AND removed_number IS NULL
        $$
        """,
        """
        CREATE FUNCTION walk_identity() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP <> 'INSERT' THEN
                PERFORM walk_remove(OLD.account_id, 'identity', OLD.identity_id);
            END IF;
            IF TG_OP <> 'DELETE' THEN
                PERFORM walk_add(NEW.account_id, 'identity', NEW.identity_id, NEW.subject);
            END IF;
            RETURN NULL;
        END
        $$
        """,
        """
        CREATE FUNCTION walk_block() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.blocked_at IS NULL THEN
                DELETE FROM walk_blocks WHERE id = NEW.identity_id;
            ELSIF OLD.blocked_at IS NULL THEN
                INSERT INTO walk_blocks (id) VALUES (NEW.identity_id);
            END IF;
            RETURN NULL;
        END
        $$
        """,
        """
        CREATE FUNCTION walk_session() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'INSERT' THEN
                PERFORM walk_add(NEW.account_id, 'session', NEW.session_id, NULL);
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM walk_remove(OLD.account_id, 'session', OLD.session_id);
            ELSIF NEW.ended_at IS NOT NULL THEN
                PERFORM walk_remove(NEW.account_id, 'session', NEW.session_id);
            END IF;
            RETURN NULL;
        END
        $$
        """,
        """
        CREATE FUNCTION walk_account() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.password_hash IS DISTINCT FROM OLD.password_hash THEN
                PERFORM walk_remove(NEW.account_id, 'password', NEW.account_id);
                IF NEW.password_hash IS NOT NULL THEN
                    PERFORM walk_add(NEW.account_id, 'password', NEW.account_id, NULL);
                END IF;
            END IF;
            IF NEW.pending_email IS DISTINCT FROM OLD.pending_email THEN
                PERFORM walk_remove(NEW.account_id, 'change of address', NEW.account_id);
                IF NEW.pending_email IS NOT NULL THEN
                    PERFORM walk_add(NEW.account_id, 'change of address', NEW.account_id, NULL);
                END IF;
            END IF;
            IF TG_OP = 'INSERT' OR (NEW.email, NEW.email_verified, NEW.email_proof)
                IS DISTINCT FROM (OLD.email, OLD.email_verified, OLD.email_proof)
            THEN
                INSERT INTO walk_degrees (account_id, proof)
                VALUES (NEW.account_id, CASE WHEN NEW.email_verified THEN NEW.email_proof ELSE 'claimed' END);
            END IF;
            RETURN NULL;
        END
        $$
        """,
    ]

    private static let triggers: [SQL] = [
        """
        CREATE TRIGGER walk_identity AFTER INSERT OR DELETE OR UPDATE OF account_id, subject ON identities
        FOR EACH ROW EXECUTE FUNCTION walk_identity()
        """,
        """
        CREATE TRIGGER walk_block AFTER UPDATE OF blocked_at ON identities
        FOR EACH ROW EXECUTE FUNCTION walk_block()
        """,
        """
        CREATE TRIGGER walk_session AFTER INSERT OR DELETE OR UPDATE OF ended_at ON sessions
        FOR EACH ROW EXECUTE FUNCTION walk_session()
        """,
        """
        CREATE TRIGGER walk_account AFTER INSERT OR UPDATE ON accounts
        FOR EACH ROW EXECUTE FUNCTION walk_account()
        """,
    ]

    // MARK: What the walkers know

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

    /// The ways into an account that was not proven before somebody entered it by its mailbox, which had not been shown to
    /// them, and were still there afterwards.
    static let unseenWays: SQL = """
        SELECT w.kind || ' ' || w.id
        FROM walk_entries e
        JOIN walk_ways w ON w.account_id = e.account_id
        WHERE w.added_in <> e.entered_in AND w.added_number < e.number
            AND (w.removed_number IS NULL OR (w.removed_number > e.number AND w.removed_in <> e.entered_in))
            AND NOT (w.kind = 'identity' AND w.id = ANY (e.shown))
            AND 'proven' <> (
                SELECT d.proof
                FROM walk_degrees d
                WHERE d.account_id = e.account_id AND d.written_in <> e.entered_in AND d.number < e.number
                ORDER BY d.number DESC
                LIMIT 1)
        """

    /// The active accounts that nobody can get into: by a password together with its address, by a proven address, to which
    /// a code is mailed, or by an identity. An address that was never proven doesn't count: it may be another person's.
    ///
    /// An identity whose provider has disabled the person's account there counts only as what the provider left them with:
    /// it keeps them out, and may let them in again. Once it is blocked no password and no other identity may be taken
    /// from the account, as long as that has its address.
    static let lockedOut: SQL = """
        SELECT a.account_id::text
        FROM accounts a
        WHERE a.status = 'active' AND NOT a.email_verified
            AND (a.password_hash IS NULL OR a.email IS NULL)
            AND NOT EXISTS (
                SELECT FROM identities i
                WHERE i.account_id = a.account_id
                    AND (i.blocked_at IS NULL OR a.email_taken_at IS NOT NULL OR NOT EXISTS (
                        SELECT FROM walk_blocks b
                        JOIN walk_ways w ON w.removed_number > b.number
                        WHERE b.id = i.identity_id AND w.account_id = a.account_id
                            AND w.kind IN ('identity', 'password'))))
        """

    /// The accounts with a proven address that nobody in the account has proven, nor an administrator for it.
    static let unprovenAddresses: SQL = """
        SELECT a.account_id::text
        FROM accounts a
        WHERE a.email_verified AND a.email_proof = 'proven'
            AND NOT EXISTS (SELECT FROM walk_codes c WHERE c.account_id = a.account_id AND c.email = a.email)
            AND NOT EXISTS (SELECT FROM walk_vouchers v WHERE v.account_id = a.account_id AND v.email = a.email)
            AND NOT EXISTS (
                SELECT FROM walk_ways w
                JOIN walk_claims c ON c.subject = w.subject
                WHERE w.account_id = a.account_id AND c.email = a.email)
        """
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
