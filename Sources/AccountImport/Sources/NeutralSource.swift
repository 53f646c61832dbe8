package import Accounts
import JSON

/// `ndjson`: a neutral row a line. Strict, as the line's writer can look up what it should be: a member that is not
/// known, or that is there twice, makes the line malformed. `null` is as good as nothing.
package struct NeutralSource: ImportSource {
    private var lines: LineReader
    private let aliases: [String: Provider]

    package init(_ input: any ByteInput, aliases: [String: Provider]) {
        lines = LineReader(input)
        self.aliases = aliases
    }

    package mutating func next() async throws -> SourceRow? {
        try lines.next().map { row($0) }
    }

    private static let members: Set<String> = [
        "externalId", "email", "emailVerified", "displayName", "createdAt", "disabled", "identities", "passwordHash",
    ]
    private static let identityMembers: Set<String> = [
        "provider", "subject", "realm", "email", "emailVerified", "isPrivateEmail", "linkedAt",
    ]

    private struct Malformed: Error {}

    private func row(_ bytes: RowBytes) -> SourceRow {
        guard let value = JSONValue(row: bytes) else { return .malformed(externalID: nil) }
        do {
            return .person(try person(value))
        } catch {
            return .malformed(externalID: value["externalId"]?.string)
        }
    }

    private func person(_ value: JSONValue) throws(Malformed) -> NeutralRow {
        try Self.require(value, within: Self.members)
        guard let externalID = value["externalId"]?.string else { throw Malformed() }
        var row = NeutralRow(externalID: externalID)
        row.email = try Self.text("email", of: value)
        row.isEmailVerified = try Self.flag("emailVerified", of: value) ?? false
        row.displayName = try Self.text("displayName", of: value)
        row.createdAt = try Self.time("createdAt", of: value)
        row.isDisabled = try Self.flag("disabled", of: value) ?? false
        row.password = try Self.text("passwordHash", of: value)
        guard let identities = value["identities"], !identities.isNull else { return row }
        guard let elements = identities.elements else { throw Malformed() }
        for element in elements {
            try Self.require(element, within: Self.identityMembers)
            guard let word = element["provider"]?.string, let subject = element["subject"]?.string else {
                throw Malformed()
            }
            guard let provider = aliases.provider(named: word) else {
                // The row's own address and hash, as another way in.
                if word != "password", word != "email" { row.skipped.append(word) }
                continue
            }
            var identity = NeutralRow.Identity(provider: provider, subject: subject, word: word)
            identity.realm = try Self.text("realm", of: element)
            identity.email = try Self.text("email", of: element)
            identity.isEmailVerified = try Self.flag("emailVerified", of: element) ?? false
            identity.isPrivateEmail = try Self.flag("isPrivateEmail", of: element)
            identity.linkedAt = try Self.time("linkedAt", of: element)
            row.identities.append(identity)
        }
        return row
    }

    private static func require(_ value: JSONValue, within known: Set<String>) throws(Malformed) {
        guard let members = value.members, members.allSatisfy({ known.contains($0.name) }) else { throw Malformed() }
    }

    private static func text(_ name: String, of value: JSONValue) throws(Malformed) -> String? {
        guard let member = value[name], !member.isNull else { return nil }
        guard let text = member.string else { throw Malformed() }
        return text
    }

    private static func flag(_ name: String, of value: JSONValue) throws(Malformed) -> Bool? {
        guard let member = value[name], !member.isNull else { return nil }
        guard let flag = member.bool else { throw Malformed() }
        return flag
    }

    private static func time(_ name: String, of value: JSONValue) throws(Malformed) -> Timestamp? {
        guard let text = try text(name, of: value) else { return nil }
        guard let time = Timestamp(internet: text) else { throw Malformed() }
        return time
    }
}
