import HTTPServer
import JSON
import Testing

/// Bodies of `application/x-www-form-urlencoded`.
@Suite(.timeLimit(.minutes(5))) struct FormTests {
    private static let routes: [Route] = [
        Route(.post, "/form") { request in
            let (name, note, colour, raw) = try request.form { form in
                (
                    form.string("name", maximumBytes: 8), form.optionalString("note"),
                    form.optionalChoice("colour", of: Demo.Colour.self),
                    form.optionalString("raw", allowsControls: true)
                )
            }
            return .json { json in
                json.member("name", name)
                json.member("note", note)
                json.member("colour", colour?.rawValue)
                json.member("rawBytes", raw?.utf8.count ?? 0)
            }
        },
        Route(.post, "/foreign") { request in
            let state = try request.form(ignoringUnknown: true) { $0.string("state") }
            return .json { $0.member("state", state) }
        },
    ]

    private static func post(
        _ body: String, path: String = "/form", type: String? = "application/x-www-form-urlencoded"
    ) -> String {
        let type = type.map { "Content-Type: \($0)\r\n" } ?? ""
        return "POST \(path) HTTP/1.1\r\nHost: a\r\n\(type)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test func `fields are decoded as browsers encode them`() async throws {
        try await withConnection(Self.routes) { connection in
            let plain = try await connection.exchange(Self.post("name=a+b%2B%26c&note=%C3%A9%3D=%20&colour=red"))
            #expect(plain.status == 200)
            #expect(plain.json?["name"]?.string == "a b+&c")
            #expect(plain.json?["note"]?.string == "é== ")
            #expect(plain.json?["colour"]?.string == "red")
            for empty in ["name=a&", "&name=a", "&&name=a&&&colour=red&"] {
                #expect(try await connection.exchange(Self.post(empty)).status == 200, "\(empty)")
            }
            let bare = try await connection.exchange(Self.post("name=a&note"))
            #expect(bare.json?["note"]?.string?.isEmpty == true)
            let raw = try await connection.exchange(Self.post("name=a&raw=%0A%00"))
            #expect(raw.json?["rawBytes"]?.integer == 2)
        }
    }

    @Test func `each invalid field is named, repeated and unknown ones too`() async throws {
        let bodies: [(body: String, errors: [String])] = [
            ("note=a", ["name required"]), ("name=123456789", ["name too_long"]), ("name=a%00", ["name invalid"]),
            ("name=a%0D%0Ab", ["name invalid"]), ("name=a%7F", ["name invalid"]), ("name=a&name=a", ["name duplicate"]),
            ("name=a&n%61me=b", ["name duplicate"]), ("name=a&x=1", ["x unknown"]),
            ("name=a&x=1&x=2", ["x unknown"]), ("name=a&Name=b", ["Name unknown"]),
            ("name=a&colour=RED", ["colour not_allowed"]), ("colour=blue", ["name required", "colour not_allowed"]),
        ]
        try await withConnection(Self.routes) { connection in
            for (body, expected) in bodies {
                let answer = try await connection.exchange(Self.post(body))
                #expect(answer.status == 400, "\(body)")
                #expect(answer.errors == expected, "\(body)")
            }
        }
    }

    @Test func `a body that is no form is refused whole`() async throws {
        let bodies = [
            "name=%", "name=%4", "name=%zz", "name=a b", "name=%FF", "name=%C3", "=a", "name=a&=b",
            "%=a", "name=é", "name=\u{0}",
            "name=a" + (1...32).map { "&x\($0)=" }.joined(),
        ]
        try await withConnection(Self.routes) { connection in
            for body in bodies {
                let answer = try await connection.exchange(Self.post(body))
                #expect(answer.status == 400, "\(body.prefix(40))")
                #expect(answer.json?["detail"]?.string == "The form is not well-formed.", "\(body.prefix(40))")
            }
            let none = try await connection.exchange(Self.post(""))
            #expect(none.json?["detail"]?.string == "A body is required.")
        }
    }

    @Test func `another content type is refused`() async throws {
        let types = [
            nil, "application/json", "text/plain", "multipart/form-data; boundary=x",
            "application/x-www-form-urlencoded; charset=iso-8859-1",
        ]
        try await withConnection(Self.routes) { connection in
            for type in types {
                let answer = try await connection.exchange(Self.post("name=a", type: type))
                #expect(answer.status == 415, "\(type ?? "")")
            }
            let utf8 = "application/x-www-form-urlencoded; charset=UTF-8"
            for type in [utf8, utf8 + ";"] {
                #expect(try await connection.exchange(Self.post("name=a", type: type)).status == 200, "\(type)")
            }
        }
    }

    @Test func `a form of another site may have fields that nobody reads, and no known one twice`() async throws {
        try await withConnection(Self.routes) { connection in
            let body = "id=a&id=b&state=s&user=%7B%0A%7D"
            let answer = try await connection.exchange(Self.post(body, path: "/foreign"))
            #expect(answer.json?["state"]?.string == "s")
            let repeated = try await connection.exchange(Self.post("state=s&state=s", path: "/foreign"))
            #expect(repeated.status == 400)
        }
    }
}
