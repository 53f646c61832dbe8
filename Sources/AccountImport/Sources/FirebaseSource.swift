import Accounts
import JSON

/// `firebase`: what `firebase auth:export` writes, JSON or CSV, by the first byte. Hashes need the project's parameters, which
/// are in the configuration. Of two forms of base64 that exporters use, either is read.
package struct FirebaseSource: ImportSource {
    private enum Form {
        case json(ElementReader)
        case csv(FirebaseRecordReader)
    }

    private var form: Form

    package init(_ input: any ByteInput) throws {
        var begun: [UInt8] = []
        while begun.allSatisfy(\.isJSONSpace), let more = try input.read() { begun += more }
        let first = begun.first { !$0.isJSONSpace }
        guard first != UInt8(ascii: "[") else {
            throw SourceFault(
                """
                The source is a JSON array, and has to be the object that firebase auth:export writes: jq '{users: .}' FILE \
                makes that of it. Of the Admin SDK's users, which have a uid and no localId, the command in docs/import.md does.
                """)
        }
        form =
            first == UInt8(ascii: "{")
            ? .json(ElementReader(input, member: "users", begun: begun))
            : .csv(FirebaseRecordReader(input, begun: begun))
    }

    package mutating func next() async throws -> SourceRow? {
        switch form {
        case .json(var reader):
            let row = try reader.next()
            form = .json(reader)
            return row.map { SourceRow(of: $0, Self.row) }
        case .csv(var reader):
            let record = try reader.next()
            form = .csv(reader)
            return record.map { Self.row($0) }
        }
    }

    private static func row(_ value: JSONValue) throws(RowFault) -> SourceRow {
        let id = try value.requiredText("localId")
        var row = NeutralRow(externalID: id)
        row.email = value["email"]?.string
        row.isEmailVerified = value["emailVerified"]?.bool ?? false
        row.displayName = value["displayName"]?.string
        row.createdAt = value["createdAt"]?.milliseconds
        row.isDisabled = value["disabled"]?.bool ?? false
        if let hash = value["passwordHash"]?.string, !hash.isEmpty {
            row.password = ForeignPasswordHash.firebase(salt: value["salt"]?.string ?? "", hash: hash)
        }
        for entry in value["providerUserInfo"]?.elements ?? [] {
            guard let word = entry["providerId"]?.string else { continue }
            row.add(word, subject: entry["rawId"]?.text, email: entry["email"]?.string)
        }
        let isAnonymous =
            (row.email ?? "").isEmpty && row.identities.isEmpty && row.skipped.isEmpty
            && (value["phoneNumber"]?.string ?? "").isEmpty
        return isAnonymous ? .anonymous(externalID: id) : .person(row)
    }

    /// The columns, counted from 0. Each provider has four: id, address, name, picture.
    private static let providers: [(column: Int, word: String)] = [
        (7, "google.com"), (11, "facebook.com"), (15, "twitter.com"), (19, "github.com"), (28, "apple.com"),
    ]

    private static func row(_ record: FirebaseRecord?) -> SourceRow {
        guard let fields = record?.fields else { return .malformed(externalID: nil, .unreadable) }
        guard !fields[0].isEmpty else { return .malformed(externalID: nil, .required("localId")) }
        func field(_ column: Int) -> String? { fields[column].isEmpty ? nil : fields[column] }
        var row = NeutralRow(externalID: fields[0])
        row.email = field(1)
        row.isEmailVerified = fields[2] == "true"
        row.displayName = field(5)
        row.createdAt = field(23).flatMap(Int64.init).flatMap(Timestamp.init(milliseconds:))
        row.isDisabled = fields[26] == "true"
        if let hash = field(3) { row.password = ForeignPasswordHash.firebase(salt: fields[4], hash: hash) }
        for (column, word) in providers {
            if let subject = field(column) { row.add(word, subject: subject, email: field(column + 1)) }
        }
        for column in stride(from: 32, to: 52, by: 4) where field(column) != nil {
            row.skipped.append("column\(column)")
        }
        let isAnonymous = row.email == nil && row.identities.isEmpty && row.skipped.isEmpty && field(25) == nil
        return isAnonymous ? .anonymous(externalID: fields[0]) : .person(row)
    }
}

extension NeutralRow {
    /// The game ids of Apple and Google (`gc.apple.com`, `playgames.google.com`) are no subjects of theirs.
    fileprivate mutating func add(_ word: String, subject: String?, email: String?) {
        let provider: Provider?
        switch word {
        case "apple.com": provider = .apple
        case "google.com": provider = .google
        // Of who signs in by a link in a mail, too.
        case "password":
            hasPassword = true
            return
        case "email", "emailLink": return
        default: provider = nil
        }
        add(word, provider, subject: subject) { $0.email = email }
    }
}
