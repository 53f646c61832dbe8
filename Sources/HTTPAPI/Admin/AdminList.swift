package import Accounts
import Administration
import HTTPServer
import JSON
import Primitives

extension Fields {
    /// The parameters `limit` and `cursor`. A cursor is the `nextCursor` of a response, sent back unchanged.
    mutating func range<Cursor: ListCursor>(_: Cursor.Type) -> (limit: Int, cursor: Cursor?) {
        (optionalInteger("limit", in: 1...200) ?? 50, optionalValue("cursor", as: Cursor.from))
    }
}

/// The position at which a list continues, encoded as base64url so that clients treat the cursor as opaque.
package protocol ListCursor: Sendable {
    static func at(_ position: String) -> Self?
    var position: String { get }
}

extension ListCursor {
    /// - Parameter text: ``encoded``, as it came back.
    package static func from(_ text: String) -> Self? {
        Base64URL.decode(text).flatMap { String(validating: $0, as: UTF8.self) }.flatMap(at)
    }

    package var encoded: String { Base64URL.encode(Array(position.utf8)) }
}

extension Identifier: ListCursor {
    package static func at(_ position: String) -> Identifier? { Identifier(position) }
    package var position: String { description }
}

extension AccountCursor: ListCursor {
    package static func at(_ position: String) -> AccountCursor? {
        let parts = position.split(separator: " ", maxSplits: 1)
        guard let id = parts.first.flatMap({ AccountID(String($0)) }) else { return nil }
        guard parts.count == 2 else { return AccountCursor(id: id, email: nil) }
        return EmailAddress.existing(String(parts[1])).map { AccountCursor(id: id, email: $0) }
    }

    package var position: String { email.map { "\(id) \($0.text)" } ?? "\(id)" }
}

extension AuditCursor: ListCursor {
    package static func at(_ position: String) -> AuditCursor? {
        guard let (time, text) = timed(position), let id = AuditEventID(text) else { return nil }
        return AuditCursor(createdAt: time, id: id)
    }

    package var position: String { "\(createdAt.microseconds) \(id)" }
}

extension LinkedClientCursor: ListCursor {
    package static func at(_ position: String) -> LinkedClientCursor? {
        guard let (time, text) = timed(position), let id = OAuthClientID(text) else { return nil }
        return LinkedClientCursor(linkedAt: time, clientID: id)
    }

    package var position: String { "\(linkedAt.microseconds) \(clientID)" }
}

/// The time and the id of a position that has both.
private func timed(_ position: String) -> (time: Timestamp, id: String)? {
    let parts = position.split(separator: " ")
    // Up to the year 9999, which RFC 3339 can express; PostgreSQL accepts these times too.
    guard parts.count == 2, let microseconds = Int64(parts[0]), 0..<253_402_300_800_000_000 ~= microseconds else {
        return nil
    }
    return (Timestamp(microseconds: microseconds), String(parts[1]))
}

extension Response {
    /// `{"items":[…],"nextCursor"?}`
    static func list<Item, Cursor: ListCursor>(
        _ page: Page<Item, Cursor>, _ write: (Item, inout JSONWriter) -> Void
    ) -> Response {
        .json { writer in
            writer.objects("items", of: page.items, write)
            writer.member("nextCursor", page.next.map(\.encoded))
        }
    }

    static func list<Item: AdminRecord, Cursor: ListCursor>(_ page: Page<Item, Cursor>) -> Response {
        list(page) { $1.members(of: $0) }
    }

    static func json(_ record: some AdminRecord, _ status: Status = .ok) -> Response {
        json(status) { $0.members(of: record) }
    }
}
