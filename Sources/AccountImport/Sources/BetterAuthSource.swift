package import Accounts
import JSON
package import Postgres

/// `better-auth`: its tables `user` and `account`, whose columns have capitals or underscores, as the project's adapter makes
/// them. A password is an account of the provider `credential`. A provider that the project has set up by itself is called what
/// it likes: then an alias says it.
package struct BetterAuthSource: ImportSource {
    private var rows: PostgresRows
    private let now: Timestamp
    private let aliases: ProviderAliases

    package init(_ connection: LeasedConnection, aliases: ProviderAliases, at now: Timestamp) async throws {
        self.now = now
        self.aliases = aliases
        guard try await connection.has([#""user""#, "account"]) else {
            throw SourceFault("The database has no tables “user” and “account”: it is none of better-auth.")
        }
        let hasCapitals = try await connection.has(column: "userId", of: "account")
        let hasUnderscores = try await connection.has(column: "user_id", of: "account")
        guard hasCapitals || hasUnderscores else {
            throw SourceFault("The table “account” has no column userId or user_id: it is none of better-auth.")
        }
        let owner: SQL = hasCapitals ? #"a."userId""# : "a.user_id"
        // All accounts at once: in older projects no index finds those of one person.
        rows = try await PostgresRows(
            connection,
            from: """
                "user" u
                LEFT JOIN (
                    SELECT \(owner) AS person, jsonb_agg((\(Self.account)) ORDER BY a.id) AS identities
                    FROM account a
                    GROUP BY 1
                ) g ON g.person = u.id
                """,
            as: "(\(Self.person)) || jsonb_build_object('identities', g.identities)")
    }

    /// Of a row of `u` what is used, by the names that it has there. A column that the table doesn't have is NULL: where the
    /// inner query knows none of a name, it is the outer one's. A project's own columns are left out, as one of the type json
    /// can hold what jsonb refuses.
    private static let person: SQL = """
        SELECT jsonb_strip_nulls(to_jsonb(used))
        FROM (
            SELECT NULL AS "emailVerified", NULL AS email_verified, NULL AS "createdAt", NULL AS created_at, NULL AS banned,
                NULL AS "banExpires", NULL AS ban_expires, NULL AS "isAnonymous", NULL AS is_anonymous
        ) AS missing
        CROSS JOIN LATERAL (
            SELECT id, name, email, "emailVerified", email_verified, "createdAt", created_at, banned, "banExpires",
                ban_expires, "isAnonymous", is_anonymous
            FROM (SELECT u.*) AS found
        ) AS used
        """

    /// The same of a row of `a`.
    private static let account: SQL = """
        SELECT jsonb_strip_nulls(to_jsonb(used))
        FROM (
            SELECT NULL AS "providerId", NULL AS provider_id, NULL AS "accountId", NULL AS account_id, NULL AS "createdAt",
                NULL AS created_at
        ) AS missing
        CROSS JOIN LATERAL (
            SELECT "providerId", provider_id, "accountId", account_id, password, "createdAt", created_at
            FROM (SELECT a.*) AS found
        ) AS used
        """

    package mutating func next() async throws -> SourceRow? { try await rows.next(row) }

    private func row(_ value: JSONValue) throws(RowFault) -> SourceRow {
        let id = try value.requiredText("id")
        if value.named("isAnonymous", "is_anonymous")?.bool == true { return .anonymous(externalID: id) }
        var row = NeutralRow(externalID: id)
        row.email = value["email"]?.string
        row.isEmailVerified = value.named("emailVerified", "email_verified")?.bool ?? false
        row.displayName = value["name"]?.string
        row.createdAt = value.named("createdAt", "created_at")?.time
        // A ban that is over is lifted by the next sign-in there, and stands until then.
        let banEnds = value.named("banExpires", "ban_expires")?.time
        row.isDisabled = value["banned"]?.bool == true && banEnds.map { $0 > now } != false
        for entry in value["identities"]?.elements ?? [] {
            guard let word = entry.named("providerId", "provider_id")?.string else { continue }
            if word == "credential" {
                row.password = row.password ?? entry["password"]?.string
                continue
            }
            let subject = entry.named("accountId", "account_id")?.text
            row.add(word, aliases.provider(named: word), subject: subject) { identity in
                identity.linkedAt = entry.named("createdAt", "created_at")?.time
            }
        }
        return .person(row)
    }
}

extension JSONValue {
    fileprivate func named(_ one: String, _ other: String) -> JSONValue? { self[one] ?? self[other] }
}
