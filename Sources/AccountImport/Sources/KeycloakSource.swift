import Accounts
import JSON

/// `keycloak`: what `kc.sh export` writes, in one file or in files of users. What a provider is called is up to the realm: its
/// alias says it. A hash and its parameters are JSON in strings.
package struct KeycloakSource: ImportSource {
    private var users: ElementReader
    private let aliases: ProviderAliases

    package init(_ input: any ByteInput, aliases: ProviderAliases) {
        users = ElementReader(input, member: "users")
        self.aliases = aliases
    }

    package mutating func next() async throws -> SourceRow? { try users.next().map { SourceRow(of: $0, row) } }

    private func row(_ value: JSONValue) throws(RowFault) -> SourceRow {
        let id = try value.requiredText("id")
        // What a client does in its own name: no person's.
        if value["serviceAccountClientId"]?.string != nil { return .anonymous(externalID: id) }
        var row = NeutralRow(externalID: id)
        row.email = value["email"]?.string
        row.isEmailVerified = value["emailVerified"]?.bool ?? false
        let parts = ["firstName", "lastName"].compactMap { value[$0]?.string }
        row.displayName = parts.isEmpty ? nil : parts.joined(separator: " ")
        row.createdAt = value["createdTimestamp"]?.milliseconds
        row.isDisabled = value["enabled"]?.bool == false
        for entry in value["federatedIdentities"]?.elements ?? [] {
            guard let alias = entry["identityProvider"]?.string else { continue }
            row.add(alias, aliases.provider(named: alias), subject: entry["userId"]?.text)
        }
        let credential = value["credentials"]?.elements?.first { $0["type"]?.string == "password" }
        row.password = credential.map(Self.password)
        // Who is in a directory (LDAP) has the password there, unless Keycloak has one of its own for them.
        row.hasPassword = value["federationLink"]?.string != nil
        return .person(row)
    }

    /// In our own form: `keycloak$…`. What can't be read is in none, and so is dropped.
    private static func password(_ credential: JSONValue) -> String {
        let unreadable = "keycloak$"
        guard let parameters = object(in: credential["credentialData"]),
            let secret = object(in: credential["secretData"]),
            let algorithm = parameters["algorithm"]?.string, let key = secret["value"]?.string,
            let salt = secret["salt"]?.string, let iterations = parameters["hashIterations"]?.text
        else { return unreadable }
        guard algorithm == "argon2" else { return "keycloak$\(algorithm)$\(iterations)$\(salt)$\(key)" }
        let more = parameters["additionalParameters"]
        func parameter(_ name: String) -> String? { more?[name]?.elements?.first?.text }
        guard let type = parameter("type"), let memory = parameter("memory"), let lanes = parameter("parallelism")
        else {
            return unreadable
        }
        let version = parameter("version") == "1.0" ? 16 : 19
        return "keycloak$argon2\(type)$v=\(version)$m=\(memory),t=\(iterations),p=\(lanes)$\(salt)$\(key)"
    }

    private static func object(in text: JSONValue?) -> JSONValue? {
        guard let bytes = text?.stringBytes, let value = try? JSONValue(parsing: bytes, limits: .row),
            value.kind == .object
        else { return nil }
        return value
    }
}
