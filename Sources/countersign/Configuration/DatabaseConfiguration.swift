/// Where the data is, and as whom it is reached.
struct DatabaseConfiguration: Sendable {
    let url: String
    /// The owner's way in: `migrate` alone uses it.
    let migrationURL: String
    /// Whom `migrate` grants what the service needs; nil when the owner is the service.
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
