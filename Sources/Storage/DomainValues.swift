package import Accounts
import Foundation
package import Postgres

extension Identifier: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .uuid }

    package func encode(into encoder: inout PostgresEncoder) { uuid.encode(into: &encoder) }

    package init(from value: PostgresValue) throws(PostgresError) { self.init(uuid: try UUID(from: value)) }
}

extension Timestamp: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .timestamptz }

    package func encode(into encoder: inout PostgresEncoder) {
        PostgresTimestamp(unixMicroseconds: microseconds).encode(into: &encoder)
    }

    package init(from value: PostgresValue) throws(PostgresError) {
        self.init(microseconds: try PostgresTimestamp(from: value).unixMicroseconds)
    }
}

extension ProviderClientID: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package init(from value: PostgresValue) throws(PostgresError) { self.init(try String(from: value)) }
}

extension PasswordHash: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package init(from value: PostgresValue) throws(PostgresError) { self.init(try String(from: value)) }
}

extension Network: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package init(from value: PostgresValue) throws(PostgresError) { self.init(try String(from: value)) }
}

extension ExactString where Self: PostgresEncodable {
    package static var postgresType: PostgresType { String.postgresType }

    package func encode(into encoder: inout PostgresEncoder) { text.encode(into: &encoder) }
}

extension SecretHash: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .bytea }

    package func encode(into encoder: inout PostgresEncoder) { encoder.append(bytes: bytes) }

    package init(from value: PostgresValue) throws(PostgresError) { self.init(try [UInt8](from: value)) }
}

// A text that only a newer release knows is a decoding error: read as anything else, it would be acted on wrongly.

extension Provider: PostgresDecodable {}
extension Account.Status: PostgresDecodable {}
extension Identity.Authorization: PostgresDecodable {}
extension OutboxStatus: PostgresDecodable {}
extension WebhookStatus: PostgresDecodable {}
extension EmailProof: PostgresDecodable {}
extension KnownIdentityDecision: PostgresDecodable {}

extension ProviderSubject: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        guard let subject = ProviderSubject(try String(from: value)) else {
            throw PostgresValue.mismatch("a text that is no subject")
        }
        self = subject
    }
}

extension ExternalID: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        guard let id = ExternalID(try String(from: value)) else {
            throw PostgresValue.mismatch("a text that is no id of another system")
        }
        self = id
    }
}

extension Realm: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) { self.init(try String(from: value)) }
}

extension EmailAddress: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        guard let address = EmailAddress.existing(try String(from: value)) else {
            throw PostgresValue.mismatch("a text that is no email address")
        }
        self = address
    }
}

extension IdentityKey {
    /// The `WHERE` condition for a table whose rows are about one person.
    var condition: SQL { "subject = \(subject.text) AND provider = \(provider.rawValue) AND realm = \(realm.text)" }
}
