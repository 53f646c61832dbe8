package import Accounts
import Foundation
package import Postgres

extension Identifier: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    package static var postgresType: PostgresType { .uuid }

    package func encode(into encoder: inout PostgresEncoder) {
        uuid.encode(into: &encoder)
    }

    package init(from value: PostgresValue) throws(PostgresError) {
        self.init(uuid: try UUID(from: value))
    }
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

extension IdentityKey {
    /// For a statement on a table whose rows are about one person.
    var condition: SQL {
        "subject = \(subject.text) AND provider = \(provider.rawValue) AND realm = \(realm.text)"
    }
}
