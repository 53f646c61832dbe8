import Postgres

/// The configuration of the database: its connection strings, by role, and the pool.
struct DatabaseConfiguration: Sendable {
    let url: String
    /// The connection string of the owner. `migrate` and `admin-key create` use it.
    let migrationURL: String
    /// The role that `migrate` grants the service's privileges to; nil when the service connects as the owner.
    let serviceRole: String?
    let poolSize: Int
    let preparedStatements: Bool

    init(from reader: inout ConfigurationReader) {
        url = reader.value(Settings.Postgres.url)
        let migrationURL = reader.optional(Settings.Postgres.migrationURL)
        self.migrationURL = migrationURL ?? url
        poolSize = reader.value(Settings.Postgres.poolSize)
        preparedStatements = reader.value(Settings.Postgres.preparedStatements)
        let strings = [(Settings.Postgres.url.name, url), (Settings.Postgres.migrationURL.name, migrationURL ?? "")]
        for (key, string) in strings where TransportSecurity(url: string) == .unstated {
            reader.refuse(
                key,
                """
                leads across a network and has no sslmode: add sslmode=verify-full (or another, where nobody can stand in \
                between)
                """)
        }
        guard migrationURL != nil, migrationURL != url, !url.isEmpty else {
            serviceRole = nil
            return
        }
        serviceRole = PostgresUser(of: url)?.name
        if serviceRole == nil {
            reader.refuse(
                Settings.Postgres.url.name,
                "names no user, and migrate has to know whom to grant what the service needs")
        }
    }

    /// By their keys; one where both are the same.
    var connectionStrings: [(key: String, url: String)] {
        [(Settings.Postgres.url.name, url)]
            + (migrationURL == url ? [] : [(Settings.Postgres.migrationURL.name, migrationURL)])
    }
}
