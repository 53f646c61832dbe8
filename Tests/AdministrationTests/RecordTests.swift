import Accounts
import Administration
import Foundation
import Testing

/// The records of administrators, beside the schemas of openapi.yaml, which has their prose.
@Suite struct RecordTests {
    private static let document = try? String(
        contentsOf: URL(filePath: #filePath).appending(path: "../../../openapi.yaml").standardized, encoding: .utf8)

    /// The properties of a schema, in their order.
    private static func properties(of schema: String) throws -> [String] {
        let lines = try #require(document).split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "    \(schema):"), "\(schema)")
        let body = lines[(start + 1)...].prefix { $0.hasPrefix("     ") || $0.isEmpty }
        return body.compactMap { $0.wholeMatch(of: /\ {8}(\w+):/).map { String($0.1) } }
    }

    @Test func `the fields of each record are the properties of its schema`() throws {
        func compare<Record: AdminRecord>(_: Record.Type, _ schema: String) throws {
            let names = Record.fields.map(\.name)
            #expect(names.sorted() == (try Self.properties(of: schema)).sorted(), "\(schema)")
            #expect(Set(names).count == names.count)
        }
        try compare(Revocation.self, "Revocation")
        try compare(RevokedIdentity.self, "Revocation")
        try compare(AuditRecord.self, "AuditEvent")
        try compare(StoredProviderEvent.self, "ProviderEvent")
        try compare(OutboxRecord.self, "OutboxMessage")
        try compare(OAuthClientRecord.self, "OAuthClient")
        try compare(EmailReplacement.self, "EmailReplacement")
    }

    @Test func `a record is a line of JSON without what it doesn't have`() throws {
        let id = try #require(AdminKeyID("01926a3e-0000-7000-8000-000000000000"))
        let key = AdminKey(id: id, name: "kim", scopes: [.revoke, .read], createdAt: Timestamp(seconds: 0))
        #expect(
            key.line
                == #"{"keyId":"01926a3e-0000-7000-8000-000000000000","name":"kim","scopes":["read","revoke"],"#
                + #""createdAt":"1970-01-01T00:00:00Z"}"#)
    }
}
