import JSON
package import Postgres

/// The people of another database, each one JSON object, read through a cursor of one read-only transaction: what is
/// written there meanwhile is not seen, and nothing waits.
///
/// A row comes in pieces of 16,384 characters, so that a fetch is bounded whatever the rows hold: 256 pieces are 16 MiB at
/// most. Of a row that is longer than a row may be nothing comes but its id.
struct PostgresRows {
    private struct Piece: Sendable {
        let id: String
        let isLast: Bool
        let text: [UInt8]?
    }

    private let connection: LeasedConnection
    private var pieces: [Piece] = []
    private var isAtEnd = false

    /// - Parameters:
    ///   - tables: of which `u` has a row for each of them, in the order of `u.id`.
    ///   - object: the object of a row, as `jsonb`.
    init(_ connection: LeasedConnection, from tables: SQL, as object: SQL) async throws {
        self.connection = connection
        // OFFSET 0 has the object made once. The number is that of `maximumRowBytes`.
        try await connection.execute(
            """
            DECLARE people NO SCROLL CURSOR FOR
            SELECT u.id::text, p.number = o.pieces, CASE WHEN o.fits THEN substr(o.object, p.number * 16384 + 1, 16384) END
            FROM \(tables)
            CROSS JOIN LATERAL (
                SELECT t.object, octet_length(t.object) <= 1048576 AS fits,
                    CASE WHEN octet_length(t.object) <= 1048576 THEN (length(t.object) - 1) / 16384 ELSE 0 END AS pieces
                FROM (SELECT (\(object))::text AS object OFFSET 0) t
            ) o
            CROSS JOIN LATERAL generate_series(0, o.pieces) AS p (number)
            ORDER BY u.id, p.number
            """)
    }

    /// - Parameter read: makes the row of its object.
    /// - Returns: `nil` behind the last row.
    mutating func next(_ read: (JSONValue) throws(RowFault) -> SourceRow) async throws -> SourceRow? {
        var bytes: [UInt8] = []
        while let piece = try await nextPiece() {
            guard let text = piece.text else { return .malformed(externalID: piece.id, .overLimit) }
            bytes += text
            if piece.isLast { return SourceRow(of: bytes, id: piece.id, read) }
        }
        return nil
    }

    private mutating func nextPiece() async throws -> Piece? {
        if pieces.isEmpty, !isAtEnd {
            do {
                pieces = try await connection.query("FETCH 256 FROM people") { row throws(PostgresError) in
                    let (id, isLast, text) = try row.decode(String.self, Bool.self, String?.self)
                    return Piece(id: id, isLast: isLast, text: text.map { Array($0.utf8) })
                }.reversed()
            } catch {
                throw SourceFault(reading: error)
            }
            isAtEnd = pieces.isEmpty
        }
        return pieces.popLast()
    }
}

extension SourceFault {
    /// What the source's own database says; of a message that may quote a value the SQLSTATE alone.
    package init(reading error: PostgresError) {
        let message = error.message.map { String($0.prefix { !$0.isNewline }) }
        let reason = (message ?? error.sqlState.map { "SQLSTATE \($0)" }).map { " (\($0))" } ?? ""
        let fault = "The source's database can't be read\(reason)."
        // Insufficient privilege, in whatever language the message is.
        guard error.code == .server(sqlState: "42501") else {
            self.init(fault)
            return
        }
        self.init(
            """
            \(fault) The role that reads needs SELECT on the tables, and BYPASSRLS, or to be their owner, where they have \
            row-level security: it would hide people, or their identities, and nothing would say so.
            """)
    }
}

extension PostgresSession {
    /// Begins the transaction in which a database is read. A policy that would hide rows is an error there, as it is to pg_dump.
    package func beginReading() async throws(PostgresError) {
        try await execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try await execute("SET LOCAL row_security = off")
    }

    /// Whether there are such tables, and columns of them (`table.column`), where a name without a schema is looked for.
    func has(_ tables: [String]) async throws(PostgresError) -> Bool {
        let found = try await query(
            "SELECT count(to_regclass(t)) = count(*) FROM unnest(\(tables)) AS t", as: Bool.self)
        return found == [true]
    }

    func has(column: String, of table: String) async throws(PostgresError) -> Bool {
        let found = try await query(
            """
            SELECT EXISTS (
                SELECT FROM pg_attribute
                WHERE attrelid = to_regclass(\(table)) AND attname = \(column) AND NOT attisdropped)
            """, as: Bool.self)
        return found == [true]
    }
}
