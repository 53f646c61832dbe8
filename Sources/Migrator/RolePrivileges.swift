import Postgres

/// The differences between the privileges of the connected role and those that `migrate` grants to the service.
package struct RolePrivileges: Sendable {
    package let isSuperuser: Bool
    /// Whether the role is the tables' owner as well.
    package let ownsTables: Bool
    /// The schema, if the role may create objects in it, as everybody may in the `public` of a database from before
    /// PostgreSQL 15.
    package let schemaOpenToCreate: String?
    /// The privileges that the role needs and does not have, as `INSERT on sessions` or `EXECUTE on make_audit_partitions()`.
    package let lacking: [String]
    /// The privileges that the role has and does not need.
    package let excess: [String]
}

extension Migrator {
    package func privileges() async throws -> RolePrivileges {
        let role = try await database.query(
            """
            SELECT rolsuper, EXISTS (
                SELECT 1 FROM pg_class
                WHERE relnamespace = \(SQL.currentSchema) AND relkind IN ('r', 'p')
                    AND pg_has_role(current_user, relowner, 'USAGE')),
                CASE WHEN has_schema_privilege(current_user, current_schema(), 'CREATE')
                    THEN quote_ident(current_schema())
                END
            FROM pg_roles WHERE rolname = current_user
            """, as: Bool.self, Bool.self, String?.self)
        let relations = try await database.query(
            """
            SELECT relname::text, \(ServiceRole.owningTable), relkind::text, relispartition, \(Relation.columnNames), ARRAY(
                SELECT privilege
                FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER'])
                    AS privilege
                WHERE has_table_privilege(pg_class.oid, privilege)
                UNION ALL
                SELECT privilege || ' (' || attname || ')'
                FROM unnest(ARRAY['INSERT', 'UPDATE']) AS privilege, pg_attribute
                WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
                    AND NOT has_table_privilege(pg_class.oid, privilege)
                    AND has_column_privilege(pg_class.oid, attnum, privilege))
            FROM pg_class
            WHERE relnamespace = \(SQL.currentSchema) AND relkind IN ('r', 'p', 'v', 'm')
            ORDER BY relname
            """, as: String.self, String.self, String.self, Bool.self, [String].self, [String].self
        ).map { name, owningTable, kind, isPartition, columns, granted in
            let relation = Relation(
                name: name, owningTable: owningTable, kind: kind, isPartition: isPartition, columns: columns)
            return (relation: relation, granted: Set(granted))
        }
        // Those of triggers are not to be called.
        let misplaced = try await database.query(
            """
            SELECT oid::regprocedure::text, proname::text, has_function_privilege(oid, 'EXECUTE')
            FROM pg_proc
            WHERE pronamespace = \(SQL.currentSchema)
                AND has_function_privilege(oid, 'EXECUTE') = (prorettype = 'trigger'::regtype)
            ORDER BY proname
            """, as: String.self, String.self, Bool.self)
        let created = created
        func functions(areCallable: Bool) -> [String] {
            misplaced.filter { created.functions.contains($0.1) && $0.2 == areCallable }.map { "EXECUTE on \($0.0)" }
        }
        let ours = relations.compactMap { relation, granted in
            ServiceRole.privileges(of: relation, created: created.relations).map { privileges in
                // A privilege on the whole table is more than one on some columns, and enough for these.
                let due = privileges.flatMap { privilege in
                    guard let columns = privilege.columns(of: relation) else { return [privilege.name] }
                    return columns.map { "\(privilege.name) (\($0))" }
                }
                let implied = privileges.filter { granted.contains($0.name) }.flatMap { privilege in
                    (privilege.columns(of: relation) ?? []).map { "\(privilege.name) (\($0))" }
                }
                return (name: relation.name, due: Set(due), granted: granted.union(implied))
            }
        }
        func list(_ pick: (Set<String>, Set<String>) -> Set<String>) -> [String] {
            ours.flatMap { relation in
                pick(relation.due, relation.granted).sorted().map { "\($0) on \(relation.name)" }
            }
        }
        return RolePrivileges(
            isSuperuser: role.contains { $0.0 }, ownsTables: role.contains { $0.1 },
            schemaOpenToCreate: role.first?.2,
            lacking: list { due, granted in due.subtracting(granted) } + functions(areCallable: false),
            excess: list { due, granted in granted.subtracting(due) } + functions(areCallable: true))
    }
}
