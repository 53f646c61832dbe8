import Accounts
import JSON

/// `auth0`: the lines of a job that exports users. `user_id` is `provider|id` of the first identity, whose address is the row's
/// own; the others have theirs in `profileData`. Hashes come in a file of their own and are merged into the lines before, as
/// `passwordHash`. The subject of a custom connection stands behind its name (`siwa|001.kim`), of which an alias says what it
/// is: so its name is the source's word for it.
package struct Auth0Source: ImportSource {
    private var lines: LineReader
    private let aliases: ProviderAliases

    package init(_ input: any ByteInput, aliases: ProviderAliases) {
        lines = LineReader(input)
        self.aliases = aliases
    }

    package mutating func next() async throws -> SourceRow? { try lines.next().map { SourceRow(of: $0, row) } }

    private func row(_ value: JSONValue) throws(RowFault) -> SourceRow {
        let id = try value.requiredText("user_id")
        var row = NeutralRow(externalID: id)
        row.email = value["email"]?.string
        row.isEmailVerified = value["email_verified"]?.bool ?? false
        row.createdAt = value["created_at"]?.time
        row.isDisabled = value["blocked"]?.bool ?? false
        row.password = value["passwordHash"]?.string
        // Who has no name has the address for one.
        row.displayName = value["name"]?.string.flatMap { $0 == row.email ? nil : $0 }
        if let identities = value["identities"]?.elements {
            for (index, entry) in identities.enumerated() {
                guard let word = entry["provider"]?.string else { continue }
                let profile = index == 0 ? value : entry["profileData"]
                row.add(
                    word, subject: entry["user_id"]?.text ?? "", email: profile?["email"]?.string,
                    isVerified: profile?["email_verified"]?.bool ?? false, aliases)
            }
        } else if let bar = id.firstIndex(of: "|") {
            row.add(
                String(id[..<bar]), subject: String(id[id.index(after: bar)...]), email: row.email,
                isVerified: row.isEmailVerified, aliases)
        }
        return .person(row)
    }
}

extension NeutralRow {
    fileprivate mutating func add(
        _ word: String, subject: String, email: String?, isVerified: Bool, _ aliases: ProviderAliases
    ) {
        let provider: Provider?
        var (word, subject) = (word, subject)
        switch word {
        case "apple": provider = .apple
        case "google-oauth2": provider = .google
        // Of its own database.
        case "auth0":
            hasPassword = true
            return
        // A code by mail.
        case "email": return
        default:
            let parts = subject.split(separator: "|", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return skipped.append(word) }
            // Each connection of one kind is a provider of its own.
            (word, subject) = (parts[0], parts[1])
            provider = aliases.provider(aliased: word)
        }
        add(word, provider, subject: subject) { identity in
            identity.email = email
            identity.isEmailVerified = isVerified
        }
    }
}
