import Postgres

extension SQL {
    /// Connections of served processes, `countersign VERSION COMMIT PROCESS`, and not those of commands and checks.
    static let isOfService: SQL = """
        application_name LIKE 'countersign %'
            AND application_name NOT IN ('countersign migrate', 'countersign health', 'countersign doctor')
        """
}
