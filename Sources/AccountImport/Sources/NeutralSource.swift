import Accounts
import JSON

/// `ndjson`: a neutral row a line. Strict, as the line's writer can look up what it should be: a member that is not
/// known, or that is there twice, makes the line malformed. `null` is as good as nothing.
package struct NeutralSource: ImportSource {
    private var lines: LineReader

    package init(_ input: any ByteInput) {
        lines = LineReader(input)
    }

    package mutating func next() async throws -> SourceRow? {
        try lines.next().map { Self.row($0) }
    }

    private static let members: Set<String> = [
        "externalId", "email", "emailVerified", "displayName", "createdAt", "disabled", "identities", "passwordHash",
    ]
    private static let identityMembers: Set<String> = [
        "provider", "subject", "realm", "email", "emailVerified", "isPrivateEmail", "linkedAt",
    ]

    private struct Malformed: Error {}

    static func row(_ bytes: RowBytes) -> SourceRow {
        guard let value = JSONValue(row: bytes) else { return .malformed(externalID: nil) }
        do {
            return .person(try person(value))
        } catch {
            return .malformed(externalID: value["externalId"]?.string)
        }
    }

    private static func person(_ value: JSONValue) throws(Malformed) -> NeutralRow {
        try require(value, within: members)
        guard let externalID = value["externalId"]?.string else { throw Malformed() }
        var row = NeutralRow(externalID: externalID)
        row.email = try text("email", of: value)
        row.isEmailVerified = try flag("emailVerified", of: value) ?? false
        row.displayName = try text("displayName", of: value)
        row.createdAt = try time("createdAt", of: value)
        row.isDisabled = try flag("disabled", of: value) ?? false
        row.password = try text("passwordHash", of: value)
        guard let identities = value["identities"], !identities.isNull else { return row }
        guard let elements = identities.elements else { throw Malformed() }
        for element in elements {
            try require(element, within: identityMembers)
            guard let word = element["provider"]?.string, let subject = element["subject"]?.string else {
                throw Malformed()
            }
            guard let provider = Provider(rawValue: word) else {
                // The row's own address and hash, as another way in.
                if word != "password", word != "email" { row.skipped.append(word) }
                continue
            }
            var identity = NeutralRow.Identity(provider: provider, subject: subject, word: word)
            identity.realm = try text("realm", of: element)
            identity.email = try text("email", of: element)
            identity.isEmailVerified = try flag("emailVerified", of: element) ?? false
            identity.isPrivateEmail = try flag("isPrivateEmail", of: element)
            identity.linkedAt = try time("linkedAt", of: element)
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
