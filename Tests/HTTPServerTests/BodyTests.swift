import JSON
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct BodyTests {
    private static func post(
        _ body: String, path: String = "/v1/echo", type: String? = "application/json", _ fields: String = ""
    ) -> String {
        let contentType = type.map { "Content-Type: \($0)\r\n" } ?? ""
        return
            "POST \(path) HTTP/1.1\r\nHost: a\r\n\(contentType)\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let valid = #"{"name":"Ada","colour":"red"}"#

    // MARK: Content type and coding

    @Test(arguments: [
        "application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8",
        "APPLICATION/JSON", "application/json ; charset=\"utf-8\"", "application/json;",
        "application/json; ;charset=utf-8;",
    ])
    func `JSON in UTF-8 is taken`(type: String) async throws {
        let answer = try await withConnection { try await $0.exchange(Self.post(Self.valid, type: type)) }
        #expect(answer.status == 200)
        #expect(answer["Content-Type"] == "application/json")
    }

    @Test func `any other content type is refused`() async throws {
        let types = [
            nil, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
            "application/json; charset=utf-16", "application/json; charset=iso-8859-1", "application/json; x=y",
            "application/json; charset=utf-8; charset=utf-16", "application/json;;x=y", ";application/json",
            "application/jsonp", "application/json, text/plain",
            "application/problem+json", "application/json\r\nContent-Type: application/json",
        ]
        try await withConnection { connection in
            for type in types {
                let answer = try await connection.exchange(Self.post(Self.valid, type: type))
                #expect(answer.status == 415, "\(type ?? "none")")
                #expect(answer.code == "unsupported_media_type")
            }
        }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd", "identity, gzip", "identity\r\nContent-Encoding: gzip"])
    func `a coded body is refused`(coding: String) async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange(Self.post(Self.valid, "Content-Encoding: \(coding)\r\n"))
            #expect(answer.status == 415)
            let identity = try await connection.exchange(Self.post(Self.valid, "Content-Encoding: Identity\r\n"))
            #expect(identity.status == 200)
        }
    }

    @Test func `a route may take bytes of another type`() async throws {
        try await withConnection { connection in
            let taken = try await connection.exchange(
                Self.post("a.b.c", path: "/v1/bytes", type: "application/secevent+jwt"))
            #expect(taken.status == 202)
            #expect(taken.json?["count"]?.integer == 5)
            let json = try await connection.exchange(Self.post("{}", path: "/v1/bytes"))
            #expect(json.status == 415)
        }
    }

    // MARK: JSON

    @Test func `a body that is no strict JSON object is refused`() async throws {
        let bodies = [
            "", " ", "{", "[]", "\"a\"", "1", "null", "true", #"{"name":"a","colour":"red"} x"#,
            #"{"name":"a","colour":"red",}"#, #"{"name":"a","name":"a","colour":"red"}"#,
            #"{"name":"a","n\u0061me":"a","colour":"red"}"#, "\u{FEFF}" + Self.valid,
            #"{"name":"a\u0000","colour":"red"}"#,
            #"{"name":"a\u001F","colour":"red"}"#, "{\"name\":\"a\nb\",\"colour\":\"red\"}",
            #"{"name":"\uD800","colour":"red"}"#, String(repeating: "[", count: 30_000),
            #"{"name":"a","colour":"red","x":[[[[[[[[]]]]]]]]}"#, "name=a&colour=red",
        ]
        try await withConnection { connection in
            for body in bodies {
                let answer = try await connection.exchange(Self.post(body))
                #expect(answer.status == 400, "\(body.prefix(60))")
                #expect(answer.code == "invalid_request")
                #expect(answer.json?["detail"]?.string?.isEmpty == false)
            }
            // Not UTF-8, and UTF-16, whose white space and letters are other bytes.
            for bytes: [UInt8] in [[0x7B, 0x22, 0xFF, 0x22, 0x7D], [0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00]] {
                try await connection.send(
                    "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: \(bytes.count)\r\n\r\n"
                )
                try await connection.send(bytes)
                #expect(try await connection.answer().status == 400)
            }
        }
    }

    @Test func `an empty body is no body, whatever its type`() async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange("POST /v1/echo HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(answer.status == 400)
            #expect(answer.json?["detail"]?.string == "A body is required.")
        }
    }

    // MARK: Members

    @Test func `every fault of the members is named`() async throws {
        let faults = try DataFile("Fixtures/faulty-members.tsv").rows.map { ($0[0], $0[1]) }
        try await withConnection { connection in
            for (body, errors) in faults {
                let answer = try await connection.exchange(Self.post(body))
                #expect(answer.status == 400, "\(body)")
                #expect(answer.errors?.joined(separator: ", ") == errors, "\(body)")
            }
        }
    }

    @Test func `only so many faults are named, and so much of a name`() async throws {
        let x = String(repeating: "x", count: 62)
        // Each comes twice when it is cut.
        let names = (10..<30).flatMap { number in ["a", "b"].map { #""\#(number)\#(x)\#($0)":0"# } }
            .joined(separator: ",")
        try await withConnection { connection in
            let answer = try await connection.exchange(Self.post(#"{"name":"a","colour":"red",\#(names)}"#))
            let errors = try #require(answer.json?["errors"]?.elements)
            #expect(errors.compactMap { $0["field"]?.string } == (10..<26).map { "\($0)\(x)" })
        }
    }

    @Test func `the members that are there reach the handler, and those that are not are absent`() async throws {
        try await withConnection { connection in
            let least = try await connection.exchange(Self.post(Self.valid))
            #expect(least.text == #"{"name":"Ada","colour":"red"}"#)
            let most = try await connection.exchange(
                Self.post(#"{"device":{"name":"x"},"quiet":false,"nick":"","colour":"green","name":"123456é"}"#))
            #expect(most.text == #"{"name":"123456é","nick":"","colour":"green","quiet":false,"device":"x"}"#)
        }
    }

    // MARK: Query

    @Test func `a parameter has one error, the first one that is found`() async throws {
        let queries = [
            ("?limit=0&limit=0", ["limit duplicate"]), ("?other=1&other=2&other=3", ["other duplicate"]),
            ("?other=1&limit=0", ["limit out_of_range", "other unknown"]),
        ]
        try await withConnection { connection in
            for (query, expected) in queries {
                let answer = try await connection.exchange(get("/v1/list\(query)"))
                #expect(answer.errors == expected, "\(query)")
            }
        }
    }

    @Test func `the parameters of a query are read by type`() async throws {
        let queries: [(query: String, answer: String?)] = [
            ("", #"{"limit":0}"#), ("?", #"{"limit":0}"#), ("?limit=200", #"{"limit":200}"#),
            ("?cursor=a+b%2B%40c", #"{"limit":0,"cursor":"a+b+@c"}"#), ("?cursor", #"{"limit":0,"cursor":""}"#),
            ("?cursor=a=b", #"{"limit":0,"cursor":"a=b"}"#), ("?colour=red&limit=1", #"{"limit":1,"colour":"red"}"#),
            ("?limit=0", nil), ("?limit=201", nil), ("?limit=-1", nil), ("?limit=+1", nil), ("?limit=1e300", nil),
            ("?limit=9223372036854775808", nil), ("?limit=", nil), ("?limit=NaN", nil), ("?limit=1&limit=1", nil),
            ("?cursor=" + String(repeating: "a", count: 17), nil), ("?colour=blue", nil), ("?other=1", nil),
            ("?limit=1&other", nil), ("?cursor=%", nil), ("?cursor=%4", nil), ("?cursor=%zz", nil),
            ("?cursor=%FF", nil),
            ("?cursor=%00", nil), ("?cursor=a%0D%0Ab", nil), ("?cursor=%7F", nil), ("?cursor=a#b", nil), ("?=1", nil),
            ("?&", #"{"limit":0}"#), ("?limit=1&", #"{"limit":1}"#),
        ]
        try await withConnection { connection in
            for (query, expected) in queries {
                let answer = try await connection.exchange(get("/v1/list\(query)"))
                #expect(answer.status == (expected == nil ? 400 : 200), "\(query)")
                if let expected {
                    #expect(answer.text == expected)
                } else {
                    #expect(answer.code == "invalid_request")
                }
            }
        }
    }
}
