import Accounts
import JSON
package import Postgres

/// `allauth`: Django's `auth_user` with the tables of django-allauth. A user model of a project's own has a table of its own,
/// which is not read. What a provider is called may be up to the project: then an alias says it. Of what a provider has sent
/// (`extra_data`, a text in older versions), of any size and depth, comes only what is used here.
package struct AllauthSource: ImportSource {
    private var rows: PostgresRows
    private let aliases: ProviderAliases

    package init(_ connection: LeasedConnection, aliases: ProviderAliases) async throws {
        guard try await connection.has(["auth_user", "account_emailaddress"]) else {
            throw SourceFault(
                """
                The database has no tables auth_user and account_emailaddress: it is none of django-allauth, or has a user \
                model of its own, which this can't read. Write neutral rows for ndjson.
                """)
        }
        self.aliases = aliases
        let hasSocial = try await connection.has(["socialaccount_socialaccount"])
        let identities: SQL =
            hasSocial
            ? """
            (
                SELECT jsonb_agg(jsonb_build_object('provider', s.provider, 'uid', s.uid, 'date_joined', s.date_joined,
                    'extra_data', CASE
                        WHEN jsonb_typeof(d.data) = 'object' THEN jsonb_strip_nulls(jsonb_build_object(
                            'email', d.data -> 'email', 'email_verified', d.data -> 'email_verified',
                            'verified_email', d.data -> 'verified_email'))
                        WHEN jsonb_typeof(d.data) = 'string' AND length(d.data #>> '{}') <= 65536 THEN d.data
                    END) ORDER BY s.id)
                FROM socialaccount_socialaccount s
                CROSS JOIN LATERAL (SELECT to_jsonb(s.extra_data) AS data) d
                WHERE s.user_id = u.id
            )
            """ : "NULL"
        rows = try await PostgresRows(
            connection, from: "auth_user u",
            as: """
                to_jsonb(u) || jsonb_build_object('identities', \(identities), 'addresses', (
                    SELECT jsonb_agg(to_jsonb(e) ORDER BY e."primary" DESC, e.verified DESC, e.id)
                    FROM account_emailaddress e
                    WHERE e.user_id = u.id
                ))
                """)
    }

    package mutating func next() async throws -> SourceRow? { try await rows.next(row) }

    private func row(_ value: JSONValue) throws(RowFault) -> SourceRow {
        let id = try value.requiredText("id")
        var row = NeutralRow(externalID: id)
        // The primary one comes first; who has none has an unverified one in `auth_user`.
        let address = value["addresses"]?.elements?.first
        row.email = address?["email"]?.string ?? value["email"]?.string
        row.isEmailVerified = address?["verified"]?.bool ?? false
        let parts = ["first_name", "last_name"].compactMap { value[$0]?.string }.filter { !$0.isEmpty }
        row.displayName = parts.isEmpty ? nil : parts.joined(separator: " ")
        row.createdAt = value["date_joined"]?.time
        row.isDisabled = value["is_active"]?.bool == false
        row.password = value["password"]?.string
        for entry in value["identities"]?.elements ?? [] {
            guard let word = entry["provider"]?.string else { continue }
            row.add(word, aliases.provider(named: word), subject: entry["uid"]?.text) { identity in
                identity.linkedAt = entry["date_joined"]?.time
                guard let data = entry["extra_data"]?.objectOrText else { return }
                identity.email = data["email"]?.string
                identity.isEmailVerified = data["email_verified"]?.isTrue ?? data["verified_email"]?.isTrue ?? false
            }
        }
        return .person(row)
    }
}
