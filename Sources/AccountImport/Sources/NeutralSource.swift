import Accounts
import JSON

/// `ndjson`: a neutral row a line. Strict, as the line's writer can look up what it should be: a member that is not
/// known, or that is there twice, makes the line malformed. `null` is as good as nothing.
package struct NeutralSource: ImportSource {
    private var lines: LineReader
    private let aliases: ProviderAliases

    package init(_ input: any ByteInput, aliases: ProviderAliases) {
        lines = LineReader(input)
        self.aliases = aliases
    }

    package mutating func next() async throws -> SourceRow? { try lines.next().map { SourceRow(of: $0, row) } }

    private static let members: Set<String> = [
        "externalId", "email", "emailVerified", "displayName", "createdAt", "disabled", "identities", "passwordHash",
    ]
    private static let identityMembers: Set<String> = [
        "provider", "subject", "realm", "email", "emailVerified", "isPrivateEmail", "linkedAt",
    ]

    private func row(_ value: JSONValue) -> SourceRow {
        do throws(RowFault) {
            return .person(try person(Members(value, within: Self.members)))
        } catch {
            return .malformed(externalID: value["externalId"]?.string, error)
        }
    }

    private func person(_ members: Members) throws(RowFault) -> NeutralRow {
        var row = NeutralRow(externalID: try members.required("externalId"))
        row.email = try members.text("email")
        row.isEmailVerified = try members.flag("emailVerified") ?? false
        row.displayName = try members.text("displayName")
        row.createdAt = try members.time("createdAt")
        row.isDisabled = try members.flag("disabled") ?? false
        row.password = try members.text("passwordHash").map(Self.withoutEncoder)
        guard let identities = members["identities"] else { return row }
        guard let elements = identities.elements else { throw .invalid("identities") }
        for (index, element) in elements.enumerated() {
            let members = try Members(element, at: "identities[\(index)]", within: Self.identityMembers)
            let (word, subject) = (try members.required("provider"), try members.required("subject"))
            guard let provider = aliases.provider(named: word) else {
                // The row's own address and hash, as another way in.
                if word != "password", word != "email" { row.skipped.append(word) }
                continue
            }
            var identity = NeutralRow.Identity(provider: provider, subject: subject, word: word)
            identity.realm = try members.text("realm")
            identity.email = try members.text("email")
            identity.isEmailVerified = try members.flag("emailVerified") ?? false
            identity.isPrivateEmail = try members.flag("isPrivateEmail")
            identity.linkedAt = try members.time("linkedAt")
            row.identities.append(identity)
        }
        return row
    }
}

extension NeutralSource {
    /// A hash as it is behind the id of the encoder that Spring Security writes in front of it.
    private static func withoutEncoder(_ hash: String) -> String {
        hash.hasPrefix("{bcrypt}") ? String(hash.dropFirst("{bcrypt}".count)) : hash
    }
}

private struct Members {
    private let object: JSONValue
    /// What stands before a member's name: `identities[0].`.
    private let path: String

    /// - Parameter place: of the object in the row; the row itself, if absent.
    init(_ object: JSONValue, at place: String? = nil, within known: Set<String>) throws(RowFault) {
        self.object = object
        path = place.map { $0 + "." } ?? ""
        guard let members = object.members else { throw place.map(RowFault.invalid) ?? RowFault.unreadable }
        if let unknown = members.first(where: { !known.contains($0.name) }) { throw .unknown(path + unknown.name) }
    }

    subscript(_ name: String) -> JSONValue? { object[name].flatMap { $0.isNull ? nil : $0 } }

    func text(_ name: String) throws(RowFault) -> String? {
        guard let member = self[name] else { return nil }
        guard let text = member.string else { throw .invalid(path + name) }
        return text
    }

    func required(_ name: String) throws(RowFault) -> String {
        guard let text = try text(name) else { throw .required(path + name) }
        return text
    }

    func flag(_ name: String) throws(RowFault) -> Bool? {
        guard let member = self[name] else { return nil }
        guard let flag = member.bool else { throw .invalid(path + name) }
        return flag
    }

    func time(_ name: String) throws(RowFault) -> Timestamp? {
        guard let text = try text(name) else { return nil }
        guard let time = Timestamp(internet: text) else { throw .invalid(path + name) }
        return time
    }
}
