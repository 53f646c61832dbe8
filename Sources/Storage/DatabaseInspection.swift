package import Accounts
package import Postgres

/// What the server says of itself to the service's role.
package struct DatabaseServer: Sendable {
    /// `15.14`.
    package let version: String
    /// 150014.
    package let versionNumber: Int32
    package let encoding: String
    package let isReadOnly: Bool
    package let fsync: Bool
    package let fullPageWrites: Bool
    package let synchronousCommit: String
    package let hasSynchronousStandby: Bool
    /// How many connections the role may have at once, everybody's together.
    package let connectionLimit: Int32
    /// Seconds by which the database's clock is ahead of this machine's, half of the way there and back included.
    package let clockDifference: Double
}

/// How many rows of a kind are sealed under a key of the ring.
package struct KeyUse: Sendable {
    package let kind: String
    package let keyID: String
    package let count: Int64
    /// False for seals of the audit trail, which stay what they are.
    package let canBeResealed: Bool
    /// False for seals that nobody reads but `audit verify`. The last one is what the service goes on from.
    package let isNeededToServe: Bool
}

/// Questions about the database itself, which change nothing.
package struct DatabaseInspection: Sendable {
    private let database: Database

    package init(database: Database) {
        self.database = database
    }

    /// - Parameter now: read before and after the database is asked for its time.
    package func server(now: @Sendable () -> Timestamp) async throws -> DatabaseServer {
        let settings = try await database.query(
            """
            SELECT current_setting('server_version'), current_setting('server_version_num')::integer,
                current_setting('server_encoding'),
                pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
                current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
                current_setting('synchronous_commit'), current_setting('synchronous_standby_names') <> '',
                (SELECT least(
                    nullif(rolconnlimit, -1), nullif(datconnlimit, -1),
                    current_setting('max_connections')::integer
                        - current_setting('superuser_reserved_connections')::integer)
                FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database())
            """
        ) { row throws(PostgresError) in
            try row.decode(
                String.self, Int32.self, String.self, Bool.self, Bool.self, Bool.self, String.self, Bool.self,
                Int32.self)
        }[0]
        // On a connection that is there, so that connecting doesn't count.
        let before = now()
        let there = try await database.query("SELECT clock_timestamp()") { row throws(PostgresError) in
            try row.decode(Timestamp.self)
        }[0]
        let middle = (before.microseconds + now().microseconds) / 2
        return DatabaseServer(
            version: settings.0, versionNumber: settings.1, encoding: settings.2, isReadOnly: settings.3,
            fsync: settings.4, fullPageWrites: settings.5, synchronousCommit: settings.6,
            hasSynchronousStandby: settings.7, connectionLimit: settings.8,
            clockDifference: Double(there.microseconds - middle) / 1_000_000)
    }

    /// Which keys of the ring are in use. Reads the tables whole: `version ‖ length of key id ‖ key id ‖ …`.
    package func keyUses() async throws -> [KeyUse] {
        try await database.query(
            """
            SELECT kind, key_id, count(*), kind NOT IN ('audit seals', 'audit heads'), kind <> 'audit seals'
            FROM (
                SELECT 'refresh tokens of providers' AS kind,
                    convert_from(substr(sealed_refresh_token, 3, get_byte(sealed_refresh_token, 1)), 'UTF8') AS key_id
                FROM provider_grants
                UNION ALL
                SELECT 'signing keys',
                    convert_from(substr(sealed_private_key, 3, get_byte(sealed_private_key, 1)), 'UTF8')
                FROM signing_keys
                UNION ALL
                SELECT 'audit seals', key_id FROM audit_seals
                UNION ALL
                SELECT 'audit heads', key_id FROM audit_head
            ) AS uses
            GROUP BY kind, key_id
            ORDER BY kind, key_id
            """
        ) { row throws(PostgresError) in
            let (kind, keyID, count, canBeResealed, isNeeded) = try row.decode(
                String.self, String.self, Int64.self, Bool.self, Bool.self)
            return KeyUse(
                kind: kind, keyID: keyID, count: count, canBeResealed: canBeResealed, isNeededToServe: isNeeded)
        }
    }
}
