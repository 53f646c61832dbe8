import HTTPServer
import JSON
import TestSupport
import Testing

/// What pages need besides bodies: cookies, redirects, queries of others, problems of their own look.
@Suite(.timeLimit(.minutes(5))) struct PageTests {
    private static let routes: [Route] = [
        Route(.get, "/cookie") { request in .json { $0.member("value", request.cookie("__Host-a")) } },
        Route(.get, "/set") { _ in
            Response.html(.ok, Array("<p>".utf8))
                .setting(ResponseCookie(name: "__Host-a", value: "AA_-", isSecure: true, maximumAge: 3600))
                .setting(ResponseCookie(name: "b", value: "B", isSecure: false))
        },
        Route(.post, "/go") { _ in .redirect(to: "com.example.app:/back?code=a%20b") },
        Route(.get, "/method") { request in
            var response = Response.empty()
            response.headers.append(("X-Head", String(request.isHead)))
            return response
        },
        Route(.get, "/values") { request in
            let query = try request.queryValues()
            return .json { json in json.member("a", query.all("a")) }
        },
        Route(.get, "/judged") { request in
            let query = try request.queryValues(judgesValues: true)
            return .json { json in
                json.member("a", query.all("a"))
                json.member("malformed", query.isMalformed)
            }
        },
    ]

    @Test func `a cookie is found by its exact name, and not at all when it is there twice`() async throws {
        let cases: [(fields: String, value: String?)] = [
            ("", nil), ("Cookie: __Host-a=1\r\n", "1"), ("Cookie: x=y; __Host-a=1=2;z=\r\n", "1=2"),
            ("Cookie: x=y;__Host-a= 1 \r\n", "1"), ("Cookie: __host-a=1\r\n", nil), ("Cookie: a=1; Host-a=2\r\n", nil),
            ("Cookie: __Host-a=1; __Host-a=1\r\n", nil), ("Cookie: __Host-a=1\r\nCookie: __Host-a=2\r\n", nil),
            ("Cookie: b=2\r\nCookie: __Host-a=1\r\n", "1"), ("Cookie: __Host-a\r\n", nil),
            ("Cookie: __Host-a=\r\n", ""),
            ("Cookie: x__Host-a=1\r\n", nil), ("Cookie: __Host-a=\"1\"\r\n", "\"1\""),
        ]
        try await withConnection(Self.routes) { connection in
            for (fields, value) in cases {
                let answer = try await connection.exchange(get("/cookie", fields))
                #expect(answer.json?["value"]?.string == value, "\(fields)")
            }
        }
    }

    @Test func `cookies are for the whole site and out of reach of scripts`() async throws {
        let answer = try await withConnection(Self.routes) { try await $0.exchange(get("/set")) }
        let cookies = answer.fields.filter { $0.name == "set-cookie" }.map(\.value)
        #expect(
            cookies == [
                "__Host-a=AA_-; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=3600",
                "b=B; Path=/; HttpOnly; SameSite=Lax",
            ])
        #expect(answer["Content-Type"] == "text/html; charset=utf-8")
    }

    @Test func `a redirect leads on by GET`() async throws {
        try await withServer(Self.routes) { port in
            let request = "POST /go HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
            let answer = try await RawConnection.open(port) { try await $0.exchange(request) }
            #expect(answer.status == 303)
            #expect(answer["Location"] == "com.example.app:/back?code=a%20b")
        }
    }

    @Test func `a handler can see that it is asked by HEAD`() async throws {
        try await withConnection(Self.routes) { connection in
            for (method, isHead) in [("GET", "false"), ("HEAD", "true")] {
                try await connection.send(get("/method", method: method))
                #expect(try await connection.answer(toHead: true)["X-Head"] == isHead)
            }
        }
    }

    @Test func `all values of a query are there, in their order, beside others`() async throws {
        try await withConnection(Self.routes) { connection in
            let answer = try await connection.exchange(get("/values?a=1&b=2&%61=a+b%2Bc&a="))
            #expect(answer.json?["a"]?.elements?.compactMap(\.string) == ["1", "a+b+c", ""])
            #expect(try await connection.exchange(get("/values")).json?["a"]?.elements?.isEmpty == true)
            for query in ["a=%", "a=%00", "=1"] {
                #expect(try await connection.exchange(get("/values?\(query)")).status == 400, "\(query)")
            }
        }
    }

    @Test func `a route that judges values has the others beside one that can't be read, and no name that can't be`()
        async throws
    {
        let cases: [(query: String, values: [String], isMalformed: Bool)] = [
            ("a=1&b=%FF", ["1"], true), ("a=1&b=%0A", ["1"], true), ("a=1&a=%00", [], true), ("a=%", [], true),
            ("a=1&b=2&b=3", ["1"], true), ("a=1&b=2&b=", ["1"], false), ("&a=1&&b=2&", ["1"], false), ("", [], false),
        ]
        try await withConnection(Self.routes) { connection in
            for (query, values, isMalformed) in cases {
                let answer = try await connection.exchange(get("/judged?\(query)"))
                #expect(answer.json?["a"]?.elements?.compactMap(\.string) == values, "\(query)")
                #expect(answer.json?["malformed"]?.bool == isMalformed, "\(query)")
            }
            for query in ["a%FF=1", "%0A=1", "=1"] {
                #expect(try await connection.exchange(get("/judged?\(query)")).status == 400, "\(query)")
            }
        }
    }

    @Test func `a route shows its problems as it likes, and they are logged as any other`() async throws {
        let shown = Route(.get, "/shown") { _ in
            var response = Response.html(.badRequest, Array("page".utf8))
            response.problem = Problem(.invalidRequest, reason: "typed_wrong")
            return response
        }
        let table = (Demo.routes + [shown]).map { route in
            route.refused { _, problem, request in
                var response = Response.html(problem.code.status, Array("page \(request.id)".utf8))
                response.headers = problem.headers
                return response
            }
        }
        let log = RecordingLog.ofRequests()
        let reloadable = Reloadable(table)
        try await withConnection(reloadable.routes, log: log) { connection in
            for (path, status) in [
                ("/v1/problems/rate_limited", 429), ("/v1/problems/invalid_session", 401), ("/v1/disabled", 403),
                ("/v1/surprise", 500), ("/v1/list?limit=0", 400),
            ] {
                let answer = try await connection.exchange(get(path, "X-Request-Id: r1\r\n"))
                #expect(answer.status == status)
                #expect(answer.text == "page r1")
                #expect((answer["Retry-After"] != nil) == (status == 429))
                #expect((answer["WWW-Authenticate"] != nil) == (status == 401))
            }
            #expect(try await connection.exchange(get("/shown")).text == "page")
            // No handler has been reached.
            let none = try await connection.exchange(get("/nothing"))
            #expect(none.code == "not_found")
            let method = try await connection.exchange(get("/v1/ping", method: "PUT"))
            #expect(method.code == "method_not_allowed")
        }
        #expect(
            log.requests.map { $0.metadata["code"] } == [
                "rate_limited", "invalid_session", "account_disabled", "internal_error", "invalid_request",
                "invalid_request", "not_found", "method_not_allowed",
            ])
        #expect(log.requests.compactMap { $0.metadata["reason"] } == ["by_admin", "typed_wrong"])
        #expect(log.entries.filter { $0.message == "request failed unexpectedly" }.count == 1)
    }

    @Test func `a reload replaces how problems are shown`() async throws {
        @Sendable func table(_ word: String) -> [Route] {
            [
                Route(.get, "/a") { _ in throw Problem(.notFound) }.refused { _, problem, _ in
                    .html(problem.code.status, Array(word.utf8))
                }
            ]
        }
        let reloadable = Reloadable(table("old"))
        try await withConnection(reloadable.routes) { connection in
            let before = try await connection.exchange(get("/a"))
            #expect(before.text == "old")
            reloadable.value = table("new")
            let after = try await connection.exchange(get("/a"))
            #expect(after.text == "new")
        }
    }
}
