import HTTPServer
import JSON
import Testing

@Suite(.timeLimit(.minutes(5))) struct HeaderTests {
    @Test func `every answer carries the headers that keep it safe`() async throws {
        let paths =
            ["/v1/ping", "/v1/none", "/v1/echo", "/v1/surprise", "/v1/disabled", "/v1/things/x", "/v1/list?bad=1"]
            + Problem.Code.allCases.map { "/v1/problems/" + $0.rawValue }
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                for path in paths {
                    let answer = try await connection.exchange(get(path))
                    #expect(answer["Cache-Control"] == "no-store", "\(path)")
                    #expect(answer["X-Content-Type-Options"] == "nosniff", "\(path)")
                    #expect(answer["Content-Length"] == "\(answer.body.count)", "\(path)")
                    #expect(answer["X-Request-Id"]?.utf8.count == 36, "\(path)")
                    #expect(answer["Date"]?.hasSuffix(" GMT") == true, "\(path)")
                    #expect(answer["Access-Control-Allow-Origin"] == nil, "\(path)")
                    #expect(answer["Set-Cookie"] == nil, "\(path)")
                    #expect(answer["Server"] == nil, "\(path)")
                }
            }
            // Refusals below the routes are no exception.
            for bytes in [
                get("/v1/ping", "Host: b\r\n"),
                "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n",
            ] {
                let answer = try await RawConnection.open(port) { try await $0.exchange(bytes) }
                #expect(answer["Cache-Control"] == "no-store")
                #expect(answer["X-Content-Type-Options"] == "nosniff")
                #expect(answer["Content-Type"] == "application/problem+json")
                #expect(answer["X-Request-Id"] == answer.json?["requestId"]?.string)
            }
        }
    }

    @Test func `a document for everybody may be cached`() async throws {
        let answer = try await withConnection { try await $0.exchange(get("/.well-known/keys")) }
        #expect(answer["Cache-Control"] == "public, max-age=300")
        #expect(answer["X-Content-Type-Options"] == "nosniff")
    }

    @Test func `an answer without content says nothing of its length or type`() async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange("POST /v1/ignore HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(answer.statusLine == "HTTP/1.1 204 No Content")
            #expect(answer["Content-Length"] == nil)
            #expect(answer["Content-Type"] == nil)
        }
    }

    @Test func `a plain request id is kept`() async throws {
        try await withConnection { connection in
            for id in ["a", "0190b6c2-1f2e.ABC_z", String(repeating: "x", count: 128)] {
                let answer = try await connection.exchange(get("/v1/none", "X-Request-Id: \(id)\r\n"))
                #expect(answer["X-Request-Id"] == id)
                #expect(answer.json?["requestId"]?.string == id)
            }
        }
    }

    @Test func `any other request id is replaced`() async throws {
        let ids = [
            "", String(repeating: "x", count: 129), "a b", "a;b", "a/b", "é", "a,b", "\"a\"", "a\u{2028}b", "<script>",
            "%0d%0aX: y",
        ]
        try await withConnection { connection in
            for id in ids {
                let answer = try await connection.exchange(get("/v1/none", "X-Request-Id: \(id)\r\n"))
                let fresh = try #require(answer["X-Request-Id"])
                #expect(fresh != id)
                #expect(fresh.utf8.count == 36)
                #expect(answer.json?["requestId"]?.string == fresh)
            }
        }
    }

    @Test func `a refused body is answered under the request id of its request`() async throws {
        let answer = try await withConnection { connection in
            try await connection.exchange(
                "POST /v1/echo HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\nContent-Length: 99999\r\n\r\n")
        }
        #expect(answer["X-Request-Id"] == "mine")
    }

    @Test func `a value of a header can't begin another one`() async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange(get("/v1/redirect?to=/a%C3%A9"))
            #expect(answer.status == 303)
            #expect(answer["Location"] == "/a??")
            #expect(answer["X-Note"] == "one??X-Injected: two???")
            #expect(answer["X-Injected"] == nil)
        }
    }

    @Test func `an address is that of the peer, or of the client of a trusted proxy`() async throws {
        let forwarded = "X-Forwarded-For: 203.0.113.9, 198.51.100.7\r\nUser-Agent: demo\r\n"
        let untrusting = try await withServer { port in
            try await RawConnection.open(port) { try await $0.exchange(get("/v1/who", forwarded)) }
        }
        #expect(untrusting.json?["client"]?.string == "127.0.0.1")
        #expect(untrusting.json?["agent"]?.string == "demo")
        let proxies = try #require(TrustedProxies(["127.0.0.0/8"]))
        let trusting = try await withServer(trusting: proxies) { port in
            try await RawConnection.open(port) { try await $0.exchange(get("/v1/who", forwarded)) }
        }
        #expect(trusting.json?["client"]?.string == "198.51.100.7")
        #expect(trusting.json?["network"]?.string == "198.51.100.0/24")
    }
}
