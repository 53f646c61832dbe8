import Postgres

/// The role that the service runs as. It reads and writes rows, calls our functions, and owns nothing.
package struct ServiceRole: Sendable {
    package let name: String

    /// The privileges on tables that not even a compromised service may rewrite.
    ///
    /// The columns of an audit row by which it is sealed are the server's to fill in: otherwise a row could be put into the
    /// past, or into a transaction that never comes. The keys of administrators are the owner's to make. To whom a name
    /// of the staff belongs isn't changed; PostgreSQL locks a row only for a role with UPDATE on one of its columns.
    private static let guardedTables: [String: [TablePrivilege]] = [
        "schema_migrations": [.init("SELECT")], "audit_seals": [.init("SELECT"), .init("INSERT")],
        "audit_events": [.init("SELECT"), .init("INSERT", except: ["transaction_id", "chain"])],
        "audit_head": [.init("SELECT"), .init("INSERT"), .init("UPDATE")],
        "admin_keys": [.init("SELECT"), .init("UPDATE", only: ["last_used_at", "revoked_at"])],
        "console_staff": [
            .init("SELECT"), .init("INSERT"), .init("DELETE"), .init("UPDATE", only: ["created_at"]),
        ],
    ]

    /// The table that a row of `pg_class` belongs to: the root of a partition, the table of a column's sequence, else
    /// itself.
    static let owningTable: SQL = """
        COALESCE(
            (SELECT relname FROM pg_class root WHERE root.oid = pg_partition_root(pg_class.oid)),
            (
                SELECT counted.relname
                FROM pg_depend JOIN pg_class counted ON counted.oid = refobjid
                WHERE pg_class.relkind = 'S' AND classid = 'pg_class'::regclass AND objid = pg_class.oid
                    AND refclassid = 'pg_class'::regclass AND refobjsubid > 0
            ),
            relname)::text
        """

    package init(name: String) { self.name = name }

    /// The privileges of the role on a relation of `pg_class`: none on a partition, which is reached through its
    /// parent, nor on a detached month of the audit trail, which is no partition any more and needs the same
    /// protection.
    ///
    /// - Parameter created: what our migrations create.
    /// - Returns: `nil` when it is none of ours: a copy that an operator made, or a part of an extension. Its privileges
    ///   are left as they are.
    static func privileges(of relation: Relation, created: Set<String>) -> [TablePrivilege]? {
        let isDetached = relation.name.hasPrefix("audit_events_")
        guard created.contains(relation.owningTable) || isDetached else { return nil }
        return switch relation.kind {
        case "S": [.init("USAGE")]
        case "v", "m": [.init("SELECT")]
        case _ where relation.isPartition || isDetached: []
        default:
            guardedTables[relation.name] ?? [.init("SELECT"), .init("INSERT"), .init("UPDATE"), .init("DELETE")]
        }
    }
}

/// A privilege on a whole table, or on some of its columns.
struct TablePrivilege: Sendable {
    let name: String
    /// Nil for the whole table.
    private let isCovered: (@Sendable (_ column: String) -> Bool)?

    init(_ name: String) {
        self.name = name
        isCovered = nil
    }

    init(_ name: String, only columns: Set<String>) {
        self.name = name
        isCovered = { columns.contains($0) }
    }

    init(_ name: String, except columns: Set<String>) {
        self.name = name
        isCovered = { !columns.contains($0) }
    }

    /// The columns that it is on; nil for the whole table.
    func columns(of relation: Relation) -> [String]? { isCovered.map { relation.columns.filter($0) } }
}

extension SQL {
    /// The schema in use. A cast reads a name as a statement does, and folds one that isn't quoted to lower case.
    static let currentSchema: SQL = "quote_ident(current_schema())::regnamespace"
}

/// A row of `pg_class`.
struct Relation: Sendable {
    let name: String
    let owningTable: String
    let kind: String
    let isPartition: Bool
    let columns: [String]

    /// The array of a row's column names, in SQL.
    static let columnNames: SQL = """
        ARRAY(
            SELECT attname::text
            FROM pg_attribute
            WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
            ORDER BY attnum)
        """
}

/// The names of what our migrations create.
struct CreatedObjects: Sendable {
    let relations: Set<String>
    let functions: Set<String>
}

extension Migrator {
    var created: CreatedObjects {
        CreatedObjects(
            relations: Set(migrations.flatMap(\.up.relations) + ["schema_migrations"]),
            functions: Set(migrations.flatMap(\.up.functions)))
    }
}

extension MigrationSession {
    /// Throws when the role does not exist: the migrator creates none, so the operator has to, before anything is
    /// applied.
    func requireRole(_ role: ServiceRole) async throws {
        let exists = try await connection.query(
            "SELECT count(*) = 1 FROM pg_roles WHERE rolname = \(role.name)", as: Bool.self)
        guard exists.contains(true) else { throw MigrationFault.noSuchRole(role.name) }
    }

    /// Sets the role's privileges, whatever they were, in one transaction, the migration's if there is one: at no moment does
    /// it have fewer than the running service needs, or more.
    ///
    /// - Parameter created: what our migrations create. Nothing else is touched.
    func grant(to role: ServiceRole, on created: CreatedObjects) async throws {
        let isOwner = try await connection.query("SELECT current_user = \(role.name)", as: Bool.self)
            .contains(true)
        guard !isOwner else { return }
        let relations = try await connection.query(
            """
            SELECT format('%I.%I', nspname, relname), relname::text, \(ServiceRole.owningTable), relkind::text,
                relispartition, \(Relation.columnNames)
            FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'v', 'm', 'S')
            ORDER BY pg_class.oid
            """, as: String.self, String.self, String.self, String.self, Bool.self, [String].self)
        let functions = try await connection.query(
            """
            SELECT oid::regprocedure::text, proname::text, prorettype = 'trigger'::regtype
            FROM pg_proc
            WHERE pronamespace = \(SQL.currentSchema)
            ORDER BY oid
            """, as: String.self, String.self, Bool.self)
        let names = try await connection.query(
            "SELECT format('%I', \(role.name)), format('%I', current_schema())", as: String.self, String.self)
        guard let (grantee, schema) = names.first else { return }
        // One message of several statements is one transaction to the server.
        var script = """
            REVOKE CREATE ON SCHEMA \(schema) FROM \(grantee);
            GRANT USAGE ON SCHEMA \(schema) TO \(grantee);
            """
        for (identifier, name, owningTable, kind, isPartition, columns) in relations {
            let relation = Relation(
                name: name, owningTable: owningTable, kind: kind, isPartition: isPartition, columns: columns)
            guard let privileges = ServiceRole.privileges(of: relation, created: created.relations) else { continue }
            let object = relation.kind == "S" ? "SEQUENCE" : "TABLE"
            script += "REVOKE ALL ON \(object) \(identifier) FROM \(grantee);"
            if !privileges.isEmpty {
                let granted = privileges.map { privilege in
                    // The names of columns that our migrations make need no quotes inside of them.
                    let columns = privilege.columns(of: relation).map { names in
                        " (\(names.map { "\"\($0)\"" }.joined(separator: ", ")))"
                    }
                    return privilege.name + (columns ?? "")
                }
                script += "GRANT \(granted.joined(separator: ", ")) ON \(object) \(identifier) TO \(grantee);"
            }
        }
        for (identifier, name, isOfTrigger) in functions where created.functions.contains(name) {
            // It runs for every writer of the table. Who may call it can hang it on a table of their own as well, and has
            // functions of that table's types called with the rights of the trigger's owner.
            script +=
                isOfTrigger
                ? "REVOKE ALL ON FUNCTION \(identifier) FROM PUBLIC, \(grantee);"
                : "GRANT EXECUTE ON FUNCTION \(identifier) TO \(grantee);"
        }
        try await connection.executeScript(unsafeSQL: script)
    }
}
