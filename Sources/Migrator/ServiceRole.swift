import Postgres

/// The role that the service runs as. It reads and writes rows, and owns nothing.
package struct ServiceRole: Sendable {
    package let name: String

    /// What it may do with tables that not even a stolen service may rewrite.
    private static let guardedTables = [
        "schema_migrations": ["SELECT"], "audit_events": ["SELECT", "INSERT"], "audit_seals": ["SELECT", "INSERT"],
        "audit_head": ["SELECT", "INSERT", "UPDATE"],
    ]

    /// Of a row of `pg_class`. What an extension brought belongs to it, and its privileges are its own affair.
    static let isNoExtension: SQL = """
        NOT EXISTS (
            SELECT 1 FROM pg_depend
            WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
        """

    package init(name: String) {
        self.name = name
    }

    /// What the role may do with a relation of `pg_class`; nothing at all with a partition, which is reached through its
    /// parent, nor with a month of the audit trail that was detached: it is no partition any more, and as much to be kept.
    static func privileges(name: String, kind: String, isPartition: Bool) -> [String] {
        switch kind {
        case "S": ["USAGE"]
        case "v", "m": ["SELECT"]
        case _ where isPartition || name.hasPrefix("audit_events_"): []
        default: guardedTables[name] ?? ["SELECT", "INSERT", "UPDATE", "DELETE"]
        }
    }
}

/// A row of `pg_class`.
private struct Relation: Sendable {
    let name: String
    /// With schema and quotes, as SQL.
    let identifier: String
    let kind: String
    let isPartition: Bool
}

extension MigrationSession {
    /// The migrator creates no roles, so the operator has to, and before anything is applied.
    func requireRole(_ role: ServiceRole) async throws {
        let exists = try await connection.query(
            "SELECT count(*) = 1 FROM pg_roles WHERE rolname = \(role.name)", as: MigrationHistory.flag)
        guard exists.contains(true) else { throw MigrationFault.noSuchRole(role.name) }
    }

    /// Makes the role's privileges what they should be, whatever they were, in one transaction: no moment passes in which
    /// it could do less than the running service needs, or more.
    func grant(to role: ServiceRole) async throws {
        let isOwner = try await connection.query("SELECT current_user = \(role.name)", as: MigrationHistory.flag)
            .contains(true)
        guard !isOwner else { return }
        let relations = try await connection.query(
            """
            SELECT relname::text, format('%I.%I', nspname, relname), relkind::text, relispartition
            FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'v', 'm', 'S') AND \(ServiceRole.isNoExtension)
            ORDER BY pg_class.oid
            """
        ) { row throws(PostgresError) in
            let (name, identifier, kind, isPartition) = try row.decode(String.self, String.self, String.self, Bool.self)
            return Relation(name: name, identifier: identifier, kind: kind, isPartition: isPartition)
        }
        let names = try await connection.query(
            "SELECT format('%I', \(role.name)), format('%I', current_schema())"
        ) { row throws(PostgresError) in try row.decode(String.self, String.self) }
        guard let (grantee, schema) = names.first else { return }
        // One message of several statements is one transaction to the server.
        var script = "GRANT USAGE ON SCHEMA \(schema) TO \(grantee);"
        for relation in relations {
            let object = relation.kind == "S" ? "SEQUENCE" : "TABLE"
            script += "REVOKE ALL ON \(object) \(relation.identifier) FROM \(grantee);"
            let privileges = ServiceRole.privileges(
                name: relation.name, kind: relation.kind, isPartition: relation.isPartition)
            if !privileges.isEmpty {
                script +=
                    "GRANT \(privileges.joined(separator: ", ")) ON \(object) \(relation.identifier) TO \(grantee);"
            }
        }
        try await connection.executeScript(unsafeSQL: script)
    }
}
