package import Accounts
import JSON
package import Postgres

/// `supabase`: `auth.users` with `auth.identities`, of any age: rows are read whole, and what a column is called in each version
/// is seen here. Until November 2023 an identity's subject stood in the column `id`. Of the columns in which applications and
/// providers keep what they like, of any size and depth, comes only what is used here.
package struct SupabaseSource: ImportSource {
    private var rows: PostgresRows
    private let now: Timestamp
    private let aliases: ProviderAliases

    package init(_ connection: LeasedConnection, aliases: ProviderAliases, at now: Timestamp) async throws {
        self.now = now
        self.aliases = aliases
        guard try await connection.has(["auth.users", "auth.identities"]) else {
            throw SourceFault("The database has no tables auth.users and auth.identities: it is none of Supabase.")
        }
        rows = try await PostgresRows(
            connection, from: "auth.users u",
            as: """
                (to_jsonb(u) - '{raw_user_meta_data,raw_app_meta_data}'::text[]) || jsonb_build_object('name', COALESCE(
                    CASE jsonb_typeof(u.raw_user_meta_data -> 'full_name') WHEN 'string' THEN
                        u.raw_user_meta_data ->> 'full_name' END,
                    CASE jsonb_typeof(u.raw_user_meta_data -> 'name') WHEN 'string' THEN
                        u.raw_user_meta_data ->> 'name' END
                ), 'identities', (
                    SELECT jsonb_agg(to_jsonb(i) || jsonb_build_object('identity_data', jsonb_build_object(
                        'sub', i.identity_data -> 'sub', 'email', i.identity_data -> 'email',
                        'email_verified', i.identity_data -> 'email_verified')) ORDER BY i.created_at, i.provider)
                    FROM auth.identities i
                    WHERE i.user_id = u.id
                ))
                """)
    }

    package mutating func next() async throws -> SourceRow? { try await rows.next(row) }

    private func row(_ value: JSONValue) throws(RowFault) -> SourceRow {
        let id = try value.requiredText("id")
        if value["deleted_at"]?.string != nil { return .deleted(externalID: id) }
        if value["is_anonymous"]?.bool == true { return .anonymous(externalID: id) }
        var row = NeutralRow(externalID: id)
        row.email = value["email"]?.string
        row.isEmailVerified = value["email_confirmed_at"]?.string != nil
        row.displayName = value["name"]?.string
        row.createdAt = value["created_at"]?.time
        // A ban that is over is none.
        if let until = value["banned_until"]?.string {
            row.isDisabled = Timestamp(internet: until).map { $0 > now } ?? true
        }
        row.password = value["encrypted_password"]?.string
        for entry in value["identities"]?.elements ?? [] {
            guard let word = entry["provider"]?.string else { continue }
            let provider = aliases.provider(named: word)
            if provider == nil, word == "email" { continue }
            let data = entry["identity_data"]
            let subject = entry["provider_id"]?.text ?? data?["sub"]?.text ?? entry["id"]?.text
            row.add(word, provider, subject: subject) { identity in
                identity.email = data?["email"]?.string
                identity.isEmailVerified = data?["email_verified"]?.isTrue ?? false
                identity.linkedAt = entry["created_at"]?.time
            }
        }
        return .person(row)
    }
}
