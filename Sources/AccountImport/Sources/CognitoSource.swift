import Accounts
import JSON

/// `cognito`: what `aws cognito-idp list-users` prints. The attribute `identities` is JSON in a string, whose `userId` is the
/// subject as the provider writes it: `Username` may have it in lower case. There are no hashes. Apple and Google are types of
/// providers; one of another type (`OIDC`) is named as the pool likes, and an alias says what it is.
package struct CognitoSource: ImportSource {
    private var users: ElementReader
    private let aliases: ProviderAliases

    package init(_ input: any ByteInput, aliases: ProviderAliases) {
        users = ElementReader(input, member: "Users", continuations: ["PaginationToken", "NextToken"])
        self.aliases = aliases
    }

    package mutating func next() async throws -> SourceRow? { try users.next().map { SourceRow(of: $0, row) } }

    /// The AWS CLI follows the service's token (`PaginationToken`) to the last page unless it is to stop before. Then it prints
    /// that, or one of its own (`NextToken`).
    package var isWhole: Bool { !users.goesOn }

    private func row(_ value: JSONValue) throws(RowFault) -> SourceRow {
        guard let list = value["Attributes"]?.elements else { throw .required("Attributes") }
        var attributes: [String: String] = [:]
        for attribute in list {
            guard let name = attribute["Name"]?.string, let text = attribute["Value"]?.string else { continue }
            attributes[name] = text
        }
        guard let id = attributes["sub"] else { throw .required("sub") }
        var row = NeutralRow(externalID: id)
        row.email = attributes["email"]
        row.isEmailVerified = attributes["email_verified"] == "true"
        let parts = [attributes["given_name"], attributes["family_name"]].compactMap(\.self)
        row.displayName = attributes["name"] ?? (parts.isEmpty ? nil : parts.joined(separator: " "))
        row.createdAt = value["UserCreateDate"]?.time
        row.isDisabled = value["Enabled"]?.bool == false
        guard let text = attributes["identities"] else { return .person(row) }
        guard let entries = (try? JSONValue(parsing: Array(text.utf8), limits: .row))?.elements else {
            return .malformed(externalID: id, .invalid("identities"))
        }
        for entry in entries {
            let type = entry["providerType"]?.string ?? ""
            let word = entry["providerName"]?.string ?? type
            let provider = aliases.provider(aliased: word) ?? Self.types[type]
            row.add(word, provider, subject: entry["userId"]?.text) { identity in
                identity.linkedAt = entry["dateCreated"]?.milliseconds
            }
        }
        return .person(row)
    }

    private static let types: [String: Provider] = ["SignInWithApple": .apple, "Google": .google]
}
