import Foundation
import Postgres
import TestSupport
import Testing

private enum Colour: String, PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    case red
    case blue
}

/// Values go to the server and come back, in binary, as what they were.
@Suite(.fixture(Database.self)) struct ValueTests {
    var database: Database { .current }

    private func expectRoundTrip<T>(
        _ values: [T], as type: String, in database: Database, location: SourceLocation = #_sourceLocation
    ) async throws where T: PostgresEncodable & PostgresDecodable & Equatable {
        for value in values {
            let rows = try await database.query(
                "SELECT \(value)::\(unsafeSQL: type), \(T?.none)::\(unsafeSQL: type)", as: T.self, T?.self)
            #expect(rows.map(\.0) == [value], sourceLocation: location)
            #expect(rows.map(\.1) == [nil], sourceLocation: location)
        }
    }

    @Test func `every scalar comes back as it was, and NULL as nil`() async throws {
        try await expectRoundTrip(
            ["", "a", "caf\u{e9}", "cafe\u{301}", "👩‍👩‍👧 '\"\\$1;--", "\u{1}\r\n"], as: "text", in: database)
        try await expectRoundTrip([0, -1, Int64.max, .min], as: "int8", in: database)
        try await expectRoundTrip([0, -1, Int.max, .min], as: "int8", in: database)
        try await expectRoundTrip([0, -1, Int32.max, .min], as: "int4", in: database)
        try await expectRoundTrip([true, false], as: "bool", in: database)
        try await expectRoundTrip([0, -0.5, .pi, .infinity, .leastNonzeroMagnitude], as: "float8", in: database)
        try await expectRoundTrip([[], [0], Array(0...255)] as [[UInt8]], as: "bytea", in: database)
        try await expectRoundTrip([UUID(), UUID()], as: "uuid", in: database)
        try await expectRoundTrip([Colour.red, .blue], as: "text", in: database)
    }

    @Test func `text keeps its bytes, not its canonical form`() async throws {
        let lengths = try await database.query(
            "SELECT octet_length(\("caf\u{e9}")), octet_length(\("cafe\u{301}"))", as: Int32.self, Int32.self)
        #expect(lengths.map(\.0) == [5])
        #expect(lengths.map(\.1) == [6])
    }

    @Test(.noFixture(Database.self))
    func `instants keep their microseconds before and after 2000 and 1970`() async throws {
        let instants = [0, 1, -1, 946_684_800_000_000, 1_763_600_000_123_456, -62_135_596_800_000_000, Int64.max, .min]
            .map(PostgresTimestamp.init(unixMicroseconds:))
        try await ScratchDatabase.withFreshPool { database in
            try await expectRoundTrip(instants, as: "timestamptz", in: database)
            let texts = try await database.query(
                """
                SELECT (\(PostgresTimestamp(unixMicroseconds: -1_000_000)) AT TIME ZONE 'UTC')::text,
                    \(PostgresTimestamp(unixMicroseconds: .max))::text, EXTRACT(epoch FROM \(instants[4]))::float8
                """, as: String.self, String.self, Double.self)
            #expect(texts.map(\.0) == ["1969-12-31 23:59:59"])
            #expect(texts.map(\.1) == ["infinity"])
            #expect(texts.map(\.2) == [1_763_600_000.123456])
        }
    }

    @Test func `arrays come back as they were, empty ones and NULL elements included`() async throws {
        try await expectRoundTrip([[], [""], ["a", "{}", "NULL", "\"", "ü"]], as: "text[]", in: database)
        try await expectRoundTrip([[], [1, -1, Int64.max]], as: "int8[]", in: database)
        try await expectRoundTrip([[1, -1, Int.max]], as: "int8[]", in: database)
        try await expectRoundTrip([[1, -1, Int32.max]], as: "int4[]", in: database)
        try await expectRoundTrip([[true, false]], as: "bool[]", in: database)
        try await expectRoundTrip([[1.5, -2]], as: "float8[]", in: database)
        try await expectRoundTrip([[UUID(), UUID()]], as: "uuid[]", in: database)
        try await expectRoundTrip([[[], [0, 1], [255]]] as [[[UInt8]]], as: "bytea[]", in: database)
        try await expectRoundTrip([[Colour.blue, .red]], as: "text[]", in: database)
        try await expectRoundTrip([["a", nil, ""], [nil]], as: "text[]", in: database)
        try await expectRoundTrip([[PostgresTimestamp(unixMicroseconds: 1)]], as: "timestamptz[]", in: database)
    }

    @Test func `narrow columns and the texts of json, enums and varchar can be read`() async throws {
        try await database.execute("CREATE TYPE mood AS ENUM ('calm', 'wild')")
        let rows = try await database.query(
            """
            SELECT 7::int2, 8::int4, 1.5::float4, 'v'::varchar, 'n'::name, '{"a": 1}'::json, '{"a": 1}'::jsonb,
                'wild'::mood, 'calm'::mood::text
            """
        ) { row throws(PostgresError) in
            try row.decode(
                Int.self, Int64.self, Double.self, String.self, String.self, String.self, String.self, String.self,
                String.self)
        }
        let row = try #require(rows.first)
        #expect((row.0, row.1, row.2, row.3, row.4) == (7, 8, 1.5, "v", "n"))
        #expect((row.5, row.6, row.7, row.8) == (#"{"a": 1}"#, #"{"a": 1}"#, "wild", "calm"))
    }

    @Test(.fixture { try await ScratchDatabase.withFreshPool(.test(poolSize: 1), $0) })
    func `a result of another shape than asked for is refused, and the connection goes on`() async throws {
        func expectRefusal<T: Sendable>(
            _ sql: SQL, _: T.Type, location: SourceLocation = #_sourceLocation
        ) async where T: PostgresDecodable {
            let error = await failure(location: location) { try await database.query(sql, as: T.self) }
            #expect(error?.code == .decoding, sourceLocation: location)
            #expect(error?.location.hasPrefix("PostgresTests/") == true, sourceLocation: location)
        }
        let before = try await backend(of: database)
        await expectRefusal("SELECT NULL::text", String.self)
        await expectRefusal("SELECT 1::int8", String.self)
        await expectRefusal("SELECT 'x'::text", Int.self)
        await expectRefusal("SELECT 3000000000::int8", Int32.self)
        await expectRefusal("SELECT 1, 2", Int.self)
        await expectRefusal("SELECT ARRAY[NULL, 1::int8]", [Int].self)
        await expectRefusal("SELECT ARRAY[[1, 2], [3, 4]]::int8[]", [Int].self)
        await expectRefusal("SELECT ARRAY[1]::int4[]", [String].self)
        await expectRefusal("SELECT 'green'", Colour.self)
        await expectRefusal("SELECT now()", Int64.self)
        await expectRefusal("SELECT 1", UUID.self)
        #expect(try await backend(of: database) == before)
    }

    @Test func `U+0000 in a text is refused before anything is sent`() async throws {
        try await database.execute("CREATE TABLE names (name text)")
        for sql: SQL in [
            "INSERT INTO names VALUES (\("victim\0evil"))",
            "INSERT INTO names SELECT unnest(\(["fine", "victim\0evil"]))",
            SQL(unsafeSQL: "INSERT INTO names VALUES ('victim\0evil')"),
        ] { await expectFailure(.encoding) { try await database.execute(sql) } }
        _ = await failure {
            try await database.withConnection { try await $0.executeScript(unsafeSQL: "SELECT 1;\0 SELECT 2") }
        }
        try await expect("SELECT count(*) FROM names", is: 0, in: database)
    }
}
