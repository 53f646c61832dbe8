import JSON
import TestSupport
import Testing

/// A call of the public listener that takes a body, with a body that would succeed or at least be well-formed.
private struct Call: Sendable {
    let method: String
    let path: String
    let bearer: String?
    let members: TokenMint.Members
    let names: [String]
    /// Those that are strings.
    let strings: [String]
    /// Of these, what `null` clears.
    let nullable: Set<String>
    /// Members of objects in the body, such as `name` of `device`.
    let nested: [(object: String, member: String)]

    /// All calls, once each; the tokens are good, so that a refusal is due to the form.
    static func all(in world: World, person: String) async throws -> [Call] {
        let account = try await world.newAccount(person)
        let access = try account.bearer()
        try await world.newPerson("\(person)-new")
        let apple = try await world.appleToken("\(person)-new")
        let values = [
            "apple": apple, "google": try await world.googleToken("\(person)-new"),
            "ticket": try await world.service.signInWithApple(apple).linkTicket(),
            "refresh": try account.refreshToken(), "email": "\(person)@example.net",
        ]
        var text = try Fixtures.file("calls.json").text
        for (name, value) in values { text.replace("{\(name)}", with: value) }
        let calls = try #require(try JSONValue(parsing: Array(text.utf8)).elements)
        return try calls.map { try Call($0, access: access) }
    }

    private init(_ call: JSONValue, access: String) throws {
        method = call["method"]?.string ?? "POST"
        path = try #require(call["path"]?.string)
        bearer = call["isSignedIn"]?.bool == true ? access : nil
        let body = try #require(call["body"]?.members)
        names = body.map(\.name)
        strings = body.filter { $0.value.string != nil }.map(\.name)
        nullable = Set((call["nullable"]?.elements ?? []).compactMap(\.string))
        nested = body.flatMap { object in (object.value.members ?? []).map { (object: object.name, member: $0.name) } }
        members = body.reduce(into: [:]) { members, member in
            var writer = JSONWriter()
            writer.value(member.value)
            members[member.name] = .raw(String(decoding: writer.bytes, as: UTF8.self))
        }
    }

    /// The bodies in which one string, of the object or of an object in it, is replaced by this literal.
    func bodies(replacingStringsBy literal: String) -> [(field: String, body: [UInt8])] {
        let plain = strings.filter { literal != "null" || !nullable.contains($0) }.map { name in
            (name, members.with(name, .raw(literal)).bytes)
        }
        return plain
            + nested.map { object, member in
                ("\(object).\(member)", members.with(object, .raw("{\"\(member)\":\(literal)}")).bytes)
            }
    }

    func send(_ body: [UInt8], type: String = "application/json", to service: Countersign) async throws -> RawAnswer {
        let connection = try RawConnection(service.port)
        let authorization = bearer.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let head = """
            \(method) \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(authorization)\
            Content-Type: \(type)\r\nContent-Length: \(body.count)\r\n\r\n
            """
        connection.send(Array(head.utf8) + body)
        return RawAnswer(await connection.readToEnd())
    }

    /// App Flip answers in words of its own.
    var isFlip: Bool { path == "/oauth/flip" }
}

@Suite(.limitedConcurrency, .world(OAuthWorld.settings), .serialized, .timeLimit(.minutes(30)))
struct RequestTests: WorldSuite {
    /// Those that take a body of JSON from an app. Providers send tokens, of which nothing but the signature is trusted.
    private static func operations() throws -> [APIDocument.Operation] {
        try APIDocument.read().operations.filter {
            $0.hasBody && $0.template.hasPrefix("/v1/") && !$0.template.hasPrefix("/v1/events/")
        }
    }

    @Test func `every operation that takes a body of an app is among the calls that are tried here`() async throws {
        let tried = Set(try await Call.all(in: world, person: "tried").map { "\($0.method) \($0.path)" })
        for operation in try Self.operations() {
            #expect(tried.contains("\(operation.method) \(operation.path("google"))"), "\(operation)")
        }
    }

    /// Sends bodies that must all be refused, and expects that none of them leaves a row.
    private func expectRefusals(
        of bodies: (Call) -> [(field: String, body: [UInt8])], person: String, status: Int = 400,
        code: String = "invalid_request", type: String = "application/json"
    ) async throws {
        let calls = try await Call.all(in: world, person: person)
        let before = try await world.rows()
        var count = 0
        for call in calls {
            for (field, body) in bodies(call) {
                let answer = try await call.send(body, type: type, to: world.service)
                #expect(answer.status == status, "\(call.path) \(field): \(answer.text)")
                if call.isFlip {
                    #expect(answer.json?["flip_error"]?.string == "invalid_request", "\(field)")
                } else {
                    #expect(answer.code == code, "\(call.path) \(field)")
                }
                count += 1
            }
        }
        #expect(count >= calls.count)
        #expect(try await world.rows() == before)
        #expect(service.isRunning)
    }

    @Test(arguments: ["\"a\\u0000b\"", "\"a\\u000d\\u000ab\"", "\"\\u001f\"", "\"a\u{1}b\""])
    func `a control character in any string of any call is refused, and nothing is stored`(
        _ literal: String
    ) async throws {
        try await expectRefusals(of: { $0.bodies(replacingStringsBy: literal) }, person: "nul\(literal.count)")
    }

    @Test func `another type in the place of any string is refused`() async throws {
        for (index, literal) in ["null", "1e300", "true", "[\"a\"]", "{}"].enumerated() {
            try await expectRefusals(of: { $0.bodies(replacingStringsBy: literal) }, person: "type\(index)")
        }
    }

    @Test func `a member that comes twice is refused, also when one is escaped`() async throws {
        try await expectRefusals(
            of: { call in
                let text = call.members.text.dropLast()
                return call.names.flatMap { name in
                    let first = String(name.unicodeScalars.first?.value ?? 0, radix: 16)
                    let value = call.members[name]?.text ?? ""
                    return [
                        (name, Array("\(text),\"\(name)\":\(value)}".utf8)),
                        ("\(name), escaped", Array("\(text),\"\\u00\(first)\(name.dropFirst())\":\(value)}".utf8)),
                    ]
                }
            }, person: "twice")
    }

    /// Otherwise a client could believe that a posted address or subject has an effect.
    @Test func `a member that a call does not know is refused and named`() async throws {
        for call in try await Call.all(in: world, person: "unknown") {
            for name in ["email", "sub", "accountId", "role", "emailVerified"] where !call.names.contains(name) {
                let answer = try await call.send(call.members.with(name, "victim@example.com").bytes, to: world.service)
                #expect(answer.status == 400, "\(call.path) \(name)")
                if call.isFlip { continue }
                let error = answer.json?["errors"]?.elements?.first { $0["field"]?.string == name }
                #expect(error?["reason"]?.string == "unknown", "\(call.path) \(name): \(answer.text)")
            }
        }
    }

    /// Who misspells a member would otherwise look for what is missing elsewhere.
    @Test func `a member that an operation does not know is named beside everything that it lacks`() async throws {
        let bearer = try await world.newAccount("bogus").text("session.accessToken")
        let operations = try Self.operations()
        #expect(operations.count > 15)
        for operation in operations {
            let answer = try await service.send(
                operation.method, operation.path("google"), ["bogus": 1], bearer: bearer)
            #expect(answer.status == 400, "\(operation)")
            #expect(answer.json?.fieldErrors.last == "bogus unknown", "\(operation): \(answer.text)")
        }
    }

    @Test
    func `a link ticket is unknown to a purpose that takes none, and not where the purpose is missing`() async throws {
        let faults: [(purpose: TokenMint.Literal?, errors: [String])] = [
            (nil, ["purpose required"]), ("binding", ["purpose not_allowed"]), ("signIn", ["linkTicket unknown"]),
        ]
        for (purpose, errors) in faults {
            let members: TokenMint.Members = ["email": "a@example.com", "linkTicket": "t"]
            let answer = try await service.post("/v1/email-codes", members.with("purpose", purpose)).expecting(400)
            #expect(answer.json?.fieldErrors == errors)
        }
    }

    @Test func `a member has one error, and a credential that can't be read is not missing besides`() async throws {
        let long = TokenMint.Literal.string(String(repeating: "c", count: 1025))
        let faults: [(path: String, members: TokenMint.Members, errors: [String])] = [
            ("google", [:], ["idToken required"]), ("google", ["idToken": 1], ["idToken wrong_type"]),
            ("google", ["serverAuthCode": long], ["serverAuthCode too_long"]),
            ("google", ["serverAuthCode": .null], ["serverAuthCode wrong_type"]),
            ("apple", [:], ["identityToken required"]),
            ("apple", ["identityToken": .null], ["identityToken wrong_type"]),
            ("apple", ["authorizationCode": long], ["authorizationCode too_long"]),
            (
                "apple", ["identityToken": 1, "authorizationCode": long],
                ["identityToken wrong_type", "authorizationCode too_long"]
            ),
        ]
        for (path, members, errors) in faults {
            let answer = try await service.post("/v1/sign-in/\(path)", members).expecting(400)
            #expect(answer.json?.fieldErrors == errors, "\(path) \(members.text)")
        }
    }

    @Test func `a link ticket or refresh token of any length is as an unknown one`() async throws {
        let expired = "link_ticket_expired"
        for length in [1_024, 1_025, 60_000] {
            let long = TokenMint.Literal.string(String(repeating: "A", count: length))
            let bind: TokenMint.Members = ["linkTicket": long, "email": "a@example.com", "password": "correct horse"]
            let calls: [(path: String, members: TokenMint.Members, status: Int, code: String?)] = [
                ("/v1/links/cancel", ["linkTicket": long], 204, nil),
                ("/v1/links/create", ["linkTicket": long], 410, expired), ("/v1/links/bind", bind, 410, expired),
                ("/v1/sessions/refresh", ["refreshToken": long], 401, "invalid_refresh_token"),
            ]
            for (path, members, status, code) in calls {
                let answer = try await service.post(path, members)
                #expect(answer.status == status, "\(path) \(length): \(answer.text)")
                #expect(answer.code == code)
            }
        }
    }

    @Test func `a body that is not one JSON object in UTF-8 is refused`() async throws {
        try await expectRefusals(
            of: { call in
                let body = call.members.bytes
                let text = String(decoding: body, as: UTF8.self)
                return [
                    ("byte order mark", [0xEF, 0xBB, 0xBF] + body),
                    ("UTF-16", text.utf16.flatMap { [0, UInt8($0 & 255)] }),
                    ("trailing bytes", body + Array("{}".utf8)), ("array", Array("[\(text)]".utf8)), ("empty", []),
                    ("trailing comma", Array("\(text.dropLast()),}".utf8)),
                    ("invalid UTF-8", body.dropLast() + Array(",\"a\":\"".utf8) + [0xC0, 0x80] + Array("\"}".utf8)),
                    ("depth", Array("\(text.dropLast()),\"a\":\(String(repeating: "[", count: 100_000 / 16))}".utf8)),
                ]
            }, person: "form")
    }

    /// A page of another origin can send these without a CORS preflight.
    @Test(arguments: ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=a", ""])
    func `a body of a type that a web page may send is refused`(_ type: String) async throws {
        try await expectRefusals(
            of: { [("", $0.members.bytes)] }, person: "type-\(type.count)", status: 415,
            code: "unsupported_media_type", type: type)
    }
}
