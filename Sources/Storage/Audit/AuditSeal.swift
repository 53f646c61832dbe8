package import Accounts
import Foundation
import KeyRing
import OpenSSL
import Postgres

/// The position of a row in the audit trail. Rows below a position that all open transactions have passed can't change
/// any more, which no clock and no sequence could guarantee.
struct AuditPosition: Comparable, Sendable {
    let chain: Int32
    let transactionID: Int64
    let eventID: Identifier<AuditEvent>

    /// Before every row.
    static let start = AuditPosition(
        chain: .min, transactionID: .min,
        eventID: Identifier(uuid: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))))

    /// Behind every row.
    static let end = AuditPosition(
        chain: .max, transactionID: .max,
        eventID: Identifier(
            uuid: UUID(uuid: (255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255))))

    /// The order of PostgreSQL, which compares ids octet by octet.
    static func < (left: AuditPosition, right: AuditPosition) -> Bool {
        if left.chain != right.chain { return left.chain < right.chain }
        if left.transactionID != right.transactionID { return left.transactionID < right.transactionID }
        return left.eventID.octets.lexicographicallyPrecedes(right.eventID.octets)
    }
}

extension AuditPosition {
    /// Of `audit_events`, and of `audit_seals` for the last row that one covers.
    static let columns: SQL = "chain, transaction_id, event_id"
    static let descending: SQL = "chain DESC, transaction_id DESC, event_id DESC"

    /// A row value, to compare with that of the ``columns``.
    var row: SQL { "(\(chain), \(transactionID), \(eventID))" }

    /// The condition that a row's position is this one or before it. `(columns) <= row` says the same, but a scan of the
    /// index goes on behind that to the end of the chain: it ends only where the first column of a row value does. To be
    /// planned for its values.
    var andAllBefore: SQL {
        """
        (chain < \(chain) OR chain = \(chain) AND transaction_id <= \(transactionID)
            AND (transaction_id, event_id) <= (\(transactionID), \(eventID)))
        """
    }

    init(_ row: PostgresRow) throws(PostgresError) {
        (chain, transactionID, eventID) = try row.decode(Int32.self, Int64.self, Identifier<AuditEvent>.self)
    }
}

extension Int64 {
    /// The difference; saturates. The numbers of seals are read before anything has vouched for them.
    func saturatingSubtracting(_ other: Int64) -> Int64 {
        let (difference, overflows) = subtractingReportingOverflow(other)
        return overflows ? (self < 0 ? .min : .max) : difference
    }
}

/// A column's value in a row of the audit trail, or in a seal.
package struct AuditField: Sendable {
    package enum Value: Sendable {
        case id(Identifier<AuditEvent>)
        case text(String)
        case time(Timestamp)
        case number(Int64)
        case octets([UInt8])
    }

    package let name: String
    package let value: Value
}

/// A row of `audit_events`, as a seal covers it.
struct AuditRow: Sendable {
    let position: AuditPosition
    let createdAt: Timestamp
    /// The columns that are not NULL. Columns that are added later are NULL in old rows, whose seals stay valid.
    let fields: [AuditField]

    /// Every column of the table. A migration adds its columns at the end, and they must be NULL in the rows before it.
    private static let columnList: StaticString = """
        event_id,type,actor,account_id,identity_id,revocation_id,provider,jti,reason,request_id,created_at,session_id,\
        network,occurrences,transaction_id,chain,actor_name
        """

    static let columns = SQL(stringLiteral: columnList)
    static let columnNames = columnList.description.split(separator: ",").map(String.init)

    /// - Parameter row: of the `columns`.
    init(_ row: PostgresRow) throws(PostgresError) {
        var fields: [AuditField] = []
        fields.reserveCapacity(AuditRow.columnNames.count)
        var eventID: Identifier<AuditEvent>?
        var createdAt: Timestamp?
        var transactionID: Int64?
        var chain: Int64?
        for (index, name) in AuditRow.columnNames.enumerated() {
            let value = try row[index]
            guard !value.isNull else { continue }
            let field: AuditField.Value
            switch value.type {
            case PostgresType.uuid.oid:
                let id = try Identifier<AuditEvent>(from: value)
                if name == "event_id" { eventID = id }
                field = .id(id)
            case PostgresType.text.oid:
                field = .text(try String(from: value))
            case PostgresType.timestamptz.oid:
                let time = try Timestamp(from: value)
                if name == "created_at" { createdAt = time }
                field = .time(time)
            default:
                let number = try Int64(from: value)
                if name == "transaction_id" { transactionID = number }
                if name == "chain" { chain = number }
                field = .number(number)
            }
            fields.append(AuditField(name: name, value: field))
        }
        guard let eventID, let createdAt, let transactionID, let chain = chain.flatMap(Int32.init(exactly:)) else {
            throw PostgresValue.mismatch("an audit event without a position")
        }
        position = AuditPosition(chain: chain, transactionID: transactionID, eventID: eventID)
        self.createdAt = createdAt
        self.fields = fields
    }

    /// Appends the name and the value of each field.
    func append(to content: inout CanonicalBytes) {
        for field in fields {
            content.append(field.name)
            switch field.value {
            case .id(let id): content.append(id)
            case .text(let text): content.append(text)
            case .time(let time): content.append(time.microseconds)
            case .number(let number): content.append(number)
            case .octets(let octets): content.append(octets)
            }
        }
    }
}

/// A row of `audit_seals`: covers all rows up to its position that no earlier seal covers.
struct AuditSeal: Sendable {
    /// The most rows that one seal covers.
    static let limit = 1000

    let number: Int64
    let position: AuditPosition
    let rowCount: Int64
    /// The number of rows that all seals up to this one cover.
    let totalCount: Int64
    let keyID: String
    let createdAt: Timestamp
    /// Of the first seal: since when there is a trail. `nil` for all others, and in a trail that an earlier release began.
    let beginsAt: Timestamp?

    /// - Parameter previous: the code of the seal before; none for the first.
    func code(
        following previous: [UInt8]?, over rows: [AuditRow], key: KeyRing.Subkey
    ) throws(OpenSSLError) -> SecretBytes {
        var message = CanonicalBytes()
        message.append("countersign audit seal \(beginsAt == nil ? 1 : 2)")
        message.append(previous ?? [])
        message.append(number)
        message.append(Int64(position.chain))
        message.append(position.transactionID)
        message.append(position.eventID)
        message.append(rowCount)
        message.append(totalCount)
        message.append(keyID)
        message.append(createdAt.microseconds)
        if let beginsAt { message.append(beginsAt.microseconds) }
        for row in rows { message.appendCounted(row.append) }
        return try HMACSHA256.authenticationCode(for: message.bytes, key: key.bytes)
    }
}

/// A seal with its code.
struct StoredAuditSeal: Sendable {
    let seal: AuditSeal
    let code: [UInt8]

    static let columns: SQL =
        "seal_number, chain, transaction_id, event_id, row_count, total_count, key_id, created_at, begins_at, mac"

    init(_ row: PostgresRow) throws(PostgresError) {
        let (number, chain, transactionID, eventID, rowCount, totalCount, keyID, createdAt, beginsAt, code) =
            try row.decode(
                Int64.self, Int32.self, Int64.self, Identifier<AuditEvent>.self, Int64.self, Int64.self, String.self,
                Timestamp.self, Timestamp?.self, [UInt8].self)
        seal = AuditSeal(
            number: number,
            position: AuditPosition(chain: chain, transactionID: transactionID, eventID: eventID),
            rowCount: rowCount, totalCount: totalCount, keyID: keyID, createdAt: createdAt, beginsAt: beginsAt)
        self.code = code
    }
}

/// The row of `audit_head`: the last seal. It is stored apart from the seals, so that it shows when the last ones are
/// deleted, and its code is of a kind of its own, so that no seal's code passes for it.
struct StoredAuditHead: Sendable {
    let number: Int64
    let totalCount: Int64
    let keyID: String
    let code: [UInt8]

    /// - Parameter sealCode: the code of the seal that it names.
    static func code(
        number: Int64, totalCount: Int64, sealCode: [UInt8], key: KeyRing.Subkey
    ) throws(OpenSSLError) -> SecretBytes {
        var message = CanonicalBytes()
        message.append("countersign audit head 1")
        message.append(number)
        message.append(totalCount)
        message.append(key.keyID)
        message.append(sealCode)
        return try HMACSHA256.authenticationCode(for: message.bytes, key: key.bytes)
    }

    /// Whether it names this seal as the last one.
    func names(_ last: StoredAuditSeal, key: KeyRing.Subkey) throws(OpenSSLError) -> Bool {
        guard number == last.seal.number, totalCount == last.seal.totalCount else { return false }
        let expected = try StoredAuditHead.code(number: number, totalCount: totalCount, sealCode: last.code, key: key)
        return expected.matches(code)
    }
}

/// An unambiguous encoding of a sequence of values: numbers have eight octets, everything else follows its length.
struct CanonicalBytes: Sendable {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ number: Int64) { withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) } }

    mutating func append(_ octets: [UInt8]) {
        append(Int64(octets.count))
        bytes.append(contentsOf: octets)
    }

    mutating func append(_ text: String) {
        append(Int64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append(_ id: Identifier<AuditEvent>) {
        append(Int64(MemoryLayout<uuid_t>.size))
        withUnsafeBytes(of: id.uuid.uuid) { bytes.append(contentsOf: $0) }
    }

    /// Appends what `write` appends, behind its length.
    mutating func appendCounted(_ write: (inout CanonicalBytes) -> Void) {
        let mark = bytes.count
        append(Int64(0))
        let start = bytes.count
        write(&self)
        withUnsafeBytes(of: Int64(bytes.count - start).bigEndian) { bytes.replaceSubrange(mark..<start, with: $0) }
    }
}

extension Identifier {
    fileprivate var octets: [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array($0) } }
}
