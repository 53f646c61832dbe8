/// The configuration of the database: its connection strings, by role, and the pool.
struct DatabaseConfiguration: Sendable {
    let url: String
    /// The connection string of the owner. Only `migrate` uses it.
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
}
