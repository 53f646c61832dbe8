package import Accounts
package import Postgres

/// The server's version, settings and clock, as the service's role sees them.
package struct DatabaseServer: Sendable {
    /// `15.14`.
    package let version: String
    /// 150014.
    package let versionNumber: Int32
    package let encoding: String
    /// Whether its locale knows the capitals beyond ASCII, by which names are found in any case.
    package let knowsCapitals: Bool
    package let isReadOnly: Bool
    package let durability: Durability
    /// Whether the connection that asked speaks TLS.
    package let isEncrypted: Bool
    package let connectionLimit: ConnectionLimit
    /// Seconds by which the database's clock is ahead of this machine's, corrected by half of the round trip.
    package let clockDifference: Double
}

/// The number of connections that the role may have at once, over all processes: the least of those that are set.
package struct ConnectionLimit: Sendable {
    package enum Setter: Sendable {
        case role
        case database
        case server
    }

    package let count: Int
    package let setter: Setter

    /// - Parameters:
    ///   - role: what `ALTER ROLE` has set, `database` likewise; `nil` for none.
    ///   - server: what is left of `max_connections`.
    init(role: Int32?, database: Int32?, server: Int32) {
        let others: [(Int32?, Setter)] = [(role, .role), (database, .database)]
        var least = (count: server, setter: Setter.server)
        for case (let count?, let setter) in others where count < least.count { least = (count, setter) }
        count = Int(least.count)
        setter = least.setter
    }
}

/// Queries about the database itself; none changes anything.
package struct DatabaseInspection: Sendable {
    let database: Database

    package init(database: Database) { self.database = database }

    /// Throws when the database takes no writes: a standby, or a primary in read-only mode. Touches no row, and so waits
    /// for no standby. Touches no table either: an index that is built on one would hold up a write that does.
    ///
    /// It fails as a write would, by 25006: the pool closes a connection on which one was refused, so that the next one can
    /// find the new primary. And it is no SELECT, which a pooler may send to a standby.
    package func requireWritable() async throws {
        _ = try await database.execute(
            """
            DO $$ BEGIN
                IF current_setting('transaction_read_only')::boolean THEN RAISE read_only_sql_transaction; END IF;
            END $$
            """)
    }

    /// The commits of this role that wait for a synchronous standby, each by its process and its statement. A backend whose
    /// client has gone goes on waiting, and counts. Since when they wait the server does not say: a statement that commits
    /// by itself may have run for long before.
    package func commitsWaiting() async throws -> [String] {
        try await database.query(
            """
            SELECT pid || ' ' || query_start
            FROM pg_stat_activity
            WHERE datname = current_database() AND usename = current_user AND wait_event = 'SyncRep'
            """, as: String.self)
    }

    package func durability() async throws -> Durability {
        try await database.query(
            """
            SELECT current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
                current_setting('synchronous_commit'), current_setting('synchronous_standby_names') <> ''
            """, as: Bool.self, Bool.self, String.self, Bool.self
        ).map(Durability.init)[0]
    }

    /// - Parameter now: read before and after the database is asked for its time.
    package func server(now: @Sendable () -> Timestamp) async throws -> DatabaseServer {
        let settings = try await database.query(
            """
            SELECT current_setting('server_version'), current_setting('server_version_num')::integer,
                current_setting('server_encoding'),
                pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
                COALESCE((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)
            """, as: String.self, Int32.self, String.self, Bool.self, Bool.self
        )[0]
        // In another encoding there may be no such letter.
        let knowsCapitals =
            if settings.2 == "UTF8" {
                try await database.query("SELECT lower('\u{CB}') = '\u{EB}'", as: Bool.self)[0]
            } else {
                false
            }
        let connectionLimit = try await connectionLimit()
        let durability = try await durability()
        // The pool is connected by now, so connecting doesn't count.
        let before = now()
        let databaseTime = try await database.query("SELECT clock_timestamp()", as: Timestamp.self)[0]
        let middle = (before.microseconds + now().microseconds) / 2
        return DatabaseServer(
            version: settings.0, versionNumber: settings.1, encoding: settings.2, knowsCapitals: knowsCapitals,
            isReadOnly: settings.3, durability: durability, isEncrypted: settings.4, connectionLimit: connectionLimit,
            clockDifference: Double(databaseTime.microseconds - middle) / 1_000_000)
    }
}

extension DatabaseInspection {
    private func connectionLimit() async throws -> ConnectionLimit {
        try await database.query(
            """
            SELECT nullif(rolconnlimit, -1), nullif(datconnlimit, -1),
                current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
            FROM pg_roles, pg_database
            WHERE rolname = current_user AND datname = current_database()
            """, as: Int32?.self, Int32?.self, Int32.self
        ).map(ConnectionLimit.init)[0]
    }

    /// The realms that a provider's identities are in: a look-up in the index for each, however many identities there are.
    package func realms(of provider: Provider) async throws(PostgresError) -> [Realm] {
        try await database.query(
            """
            WITH RECURSIVE found AS (
                (SELECT i.realm FROM identities i WHERE i.provider = \(provider.rawValue) ORDER BY i.realm LIMIT 1)
                UNION ALL
                SELECT (
                    SELECT i.realm
                    FROM identities i
                    WHERE i.provider = \(provider.rawValue) AND i.realm > f.realm
                    ORDER BY i.realm
                    LIMIT 1)
                FROM found f
                WHERE f.realm IS NOT NULL
            )
            SELECT realm FROM found WHERE realm IS NOT NULL
            """, as: Realm.self)
    }

    /// The number of a provider's identities in a realm, as far as it is counted.
    package func identityCount(
        of provider: Provider, in realm: Realm, upTo limit: Int
    ) async throws(PostgresError) -> Int {
        let counts = try await database.query(
            """
            SELECT count(*)
            FROM (
                SELECT FROM identities
                WHERE provider = \(provider.rawValue) AND realm = \(realm.text)
                LIMIT \(limit)
            ) AS counted
            """, as: Int.self)
        return counts.first ?? 0
    }

    package func connections() async throws(PostgresError) -> [ServiceConnections] {
        try await database.query(
            """
            SELECT host(client_addr), application_name, count(*), min(backend_start)
            FROM pg_stat_activity
            WHERE usename = current_user AND datname = current_database()
            GROUP BY 1, 2
            ORDER BY 1, 2
            LIMIT 200
            """, as: String?.self, String.self, Int.self, Timestamp.self
        ).map(ServiceConnections.init)
    }
}
