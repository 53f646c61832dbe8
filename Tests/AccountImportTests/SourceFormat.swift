import AccountImport
import Accounts
import Foundation

/// A format of which an example lies in `Exports`.
enum SourceFormat: String, CaseIterable, Sendable {
    case firebase = "firebase.json"
    case firebaseCSV = "firebase.csv"
    case auth0 = "auth0.ndjson"
    case cognito = "cognito.json"
    case keycloak = "keycloak.json"
    case neutral = "neutral.ndjson"

    /// A whole file, without the end of its last line.
    var example: String {
        get throws {
            let folder = URL(filePath: #filePath).deletingLastPathComponent()
            return try String(contentsOf: folder.appending(path: "Exports/\(rawValue)"), encoding: .utf8)
                .trimmingCharacters(in: .newlines)
        }
    }

    /// Whether a row ends with its line, whatever is in it.
    var isOfLines: Bool { self == .auth0 || self == .neutral }

    func source(_ input: any ByteInput) throws -> any ImportSource {
        switch self {
        case .firebase, .firebaseCSV: try FirebaseSource(input)
        case .auth0: Auth0Source(input, aliases: [:])
        case .cognito: CognitoSource(input, aliases: [:])
        case .keycloak: KeycloakSource(input, aliases: ["siwa": .apple])
        case .neutral: NeutralSource(input, aliases: [:])
        }
    }

    // MARK: Rows with an id and an address

    /// Two rows and a part of the third.
    func text(partOfThird length: Int) -> String {
        [head, row("u1"), row("u2"), String(row("u3").prefix(length))].joined()
    }

    var length: Int { row("u3").count }

    /// What is before the first row.
    private var head: String {
        switch self {
        case .neutral, .firebaseCSV, .auth0: ""
        case .firebase: #"{"users":["#
        case .cognito: #"{"Users":["#
        case .keycloak: #"{"realm":"shop","users":["#
        }
    }

    private func row(_ id: String) -> String {
        switch self {
        case .neutral: #"{"externalId":"\#(id)","email":"\#(id)@example.com"}"# + "\n"
        case .auth0: #"{"user_id":"\#(id)","email":"\#(id)@example.com"}"# + "\n"
        case .firebase: #"{"localId":"\#(id)","email":"\#(id)@example.com"},"# + "\n"
        case .firebaseCSV: SourceTests.record([0: id, 1: "\(id)@example.com"]) + "\n"
        case .cognito: #"{"Username":"x","Attributes":[{"Name":"sub","Value":"\#(id)"}]},"# + "\n"
        case .keycloak: #"{"id":"\#(id)","email":"\#(id)@example.com"},"# + "\n"
        }
    }
}

extension ImportSource {
    /// All rows from here on.
    func rows() async throws -> [SourceRow] {
        var source = self
        var rows: [SourceRow] = []
        while let row = try await source.next() { rows.append(row) }
        return rows
    }
}

extension SourceRow {
    /// The id of a person, or the fault of a row.
    var summary: String {
        switch self {
        case .person(let row): row.externalID
        case .malformed(externalID: let id, let fault): "malformed \(id ?? "-") \(fault.text)"
        case .deleted, .anonymous: "none"
        }
    }
}
