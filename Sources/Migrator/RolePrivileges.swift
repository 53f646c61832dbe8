import Postgres

/// How what the connected role may do differs from what `migrate` grants to the service.
package struct RolePrivileges: Sendable {
    package let isSuperuser: Bool
    /// Service and owner are one role.
    package let ownsTables: Bool
    /// As `INSERT on sessions`.
    package let lacking: [String]
    package let excess: [String]
}

extension Migrator {
    package func privileges() async throws -> RolePrivileges {
        let role = try await database.query(
            """
            SELECT rolsuper, EXISTS (
                SELECT 1 FROM pg_class
                WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
                    AND pg_has_role(current_user, relowner, 'USAGE'))
            FROM pg_roles WHERE rolname = current_user
            """
        ) { row throws(PostgresError) in try row.decode(Bool.self, Bool.self) }
        let relations = try await database.query(
            """
            SELECT relname::text, relkind::text, relispartition, ARRAY(
                SELECT privilege
                FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER'])
                    AS privilege
                WHERE has_table_privilege(pg_class.oid, privilege))
            FROM pg_class
            WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
                AND \(ServiceRole.isNoExtension)
            ORDER BY relname
            """
        ) { row throws(PostgresError) in
            let (name, kind, isPartition, granted) = try row.decode(
                String.self, String.self, Bool.self, [String].self)
            let due = ServiceRole.privileges(name: name, kind: kind, isPartition: isPartition)
            return (name: name, due: Set(due), granted: Set(granted))
        }
        func list(_ pick: (Set<String>, Set<String>) -> Set<String>) -> [String] {
            relations.flatMap { relation in
                pick(relation.due, relation.granted).sorted().map { "\($0) on \(relation.name)" }
            }
        }
        return RolePrivileges(
            isSuperuser: role.contains { $0.0 }, ownsTables: role.contains { $0.1 },
            lacking: list { due, granted in due.subtracting(granted) },
            excess: list { due, granted in granted.subtracting(due) })
    }
}
