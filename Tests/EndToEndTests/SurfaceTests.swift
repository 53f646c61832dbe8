import JOSE
import JSON
import TestSupport
import Testing

/// What all answers have in common, and the paths of each listener.
@Suite(.limitedConcurrency, .world(OAuthWorld.settings), .timeLimit(.minutes(30))) struct SurfaceTests: WorldSuite {
    /// Each with the methods that it has.
    private static let publicPaths = Result {
        try Fixtures.file("public-paths.json").decoded(as: [String: String].self)
    }
    private static let privatePaths = ["/health/live", "/health/ready", "/metrics"]

    @Test func `no path of one listener answers on the other`() async throws {
        let paths = try Self.publicPaths.get()
        try #require(paths.count == 59)
        for path in paths.keys {
            #expect(try await service.privateGet(path).status == 404, "\(path)")
            #expect(try await service.get(path).status != 404, "\(path)")
        }
        for path in Self.privatePaths + ["/admin/v1/accounts", "/console"] {
            try await service.get(path).expectRefusal(404, "not_found", "\(path)")
        }
        for path in Self.privatePaths {
            try await eventually("an answer at \(path)") { try await service.privateGet(path).status == 200 }
        }
    }

    @Test(arguments: [
        "//v1/account", "/v1//account", "/v1/account/", "/v1/./account", "/v1/x/../account", "/v1%2Faccount",
        "/V1/account", "/v1/account;a=b", "/v1/account%00", "/v2/account", "/", "/v1",
    ])
    func `another spelling of a path is another path`(_ path: String) async throws {
        let answer = try await RawConnection.exchange(
            service.port, "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(answer.status == 404)
    }

    @Test(arguments: [
        "/", "/nowhere", "/web/nowhere", "/web/", "/oauth/nowhere", "/v10", "/console", "http://a/nowhere",
    ])
    func `a browser at an address that is none gets a page in its language, everybody else JSON`(
        _ path: String
    ) async throws {
        func ask(_ method: String, accept: String) async throws -> RawAnswer {
            try await service.ask(method, path, headers: "Accept: \(accept)\r\nAccept-Language: de\r\n")
        }
        for accept in ["text/html", "application/xhtml+xml, Text/HTML;q=0.9, */*;q=0.8"] {
            let page = try await ask("GET", accept: accept).expecting(404)
            #expect(page["Content-Type"] == "text/html; charset=utf-8")
            #expect(page["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
            #expect(page.body.contains("<html lang=\"de\""))
        }
        #expect(try await ask("HEAD", accept: "text/html").status == 404)
        for (method, accept) in [
            ("GET", "*/*"), ("GET", "application/json"), ("GET", "text/htmlx"), ("POST", "text/html"),
        ] {
            let answer = try await ask(method, accept: accept).expecting(404)
            #expect(answer["Content-Type"] == "application/problem+json")
            #expect(answer.code == "not_found")
        }
    }

    @Test(arguments: [
        "/v1", "/v1/", "/v1?a", "/v1/nowhere", "/v1/nowhere?a=b", "http://a/v1", "http://a/v1?a", "http://a/v1/nowhere",
    ])
    func `below v1 a browser gets JSON too`(_ path: String) async throws {
        try await service.ask("GET", path, headers: "Accept: text/html\r\n").expectRefusal(404, "not_found")
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "POST"])
    func `a method that a path does not have is refused, and the ones that it has are named`(
        _ method: String
    ) async throws {
        for (path, names) in try Self.publicPaths.get() {
            let allowed = names.split(separator: ", ")
            guard !allowed.contains(method[...]) else { continue }
            let answer = try await RawConnection.exchange(
                service.port, "\(method) \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            #expect(answer.status == 405, "\(method) \(path)")
            #expect(answer["Allow"]?.split(separator: ", ").sorted() == allowed, "\(method) \(path)")
            #expect(answer["Access-Control-Allow-Origin"] == nil)
        }
    }

    /// Answers of every kind, and the header fields that all of them must have.
    @Test func `every answer forbids caching and content sniffing`() async throws {
        let created = try await world.newAccount("headers")
        let access = try created.bearer()
        let token = try await world.appleToken("headers")
        var ready: Answer?
        try await eventually("readiness") {
            ready = try await service.privateGet("/health/ready")
            return ready?.status == 200
        }
        let answers: [(Int, Answer)] = [
            (201, created),
            (200, try await service.signInWithApple(token)),
            (200, try await service.get("/v1/account", bearer: access)),
            (204, try await service.post("/v1/links/cancel", ["linkTicket": "a"])),
            (400, try await service.post("/v1/sign-in/apple", [:])),
            (401, try await service.signInWithApple("a.b.c")),
            (401, try await service.get("/v1/account")),
            (401, try await service.get("/v1/account", bearer: "a.b.c")),
            (401, try await service.refresh("a")),
            (404, try await service.get("/nothing")),
            (405, try await service.get("/v1/sign-in/apple")),
            (410, try await service.post("/v1/links/create", ["linkTicket": "a"])),
            (413, try await service.post("/v1/links/create", body: [UInt8](repeating: 0x20, count: 70_000))),
            (415, try await service.post("/v1/links/create", body: [0x20], type: "text/plain")),
            (200, try await service.privateGet("/health/live")),
            (200, try #require(ready)),
            (404, try await service.privateGet("/nothing")),
        ]
        for (status, answer) in answers {
            #expect(answer.status == status, "\(answer.text)")
            let id = answer.header("X-Request-Id")
            #expect(id?.isEmpty == false, "\(status)")
            #expect(answer.header("X-Content-Type-Options") == "nosniff", "\(status)")
            #expect(answer.header("Cache-Control") == "no-store", "\(status)")
            #expect(answer.header("Set-Cookie") == nil && answer.header("Access-Control-Allow-Origin") == nil)
            #expect((answer.header("WWW-Authenticate") == "Bearer") == (status == 401), "\(status)")
            guard status >= 400 else { continue }
            #expect(answer.header("Content-Type") == "application/problem+json", "\(status)")
            #expect(answer.json?["status"]?.integer == Int64(status))
            #expect(answer.json?["requestId"]?.string == id)
            #expect(answer.json?["type"]?.string == "/problems/\(answer.code ?? "")")
        }
    }

    @Test func `the documents for verifiers may be cached, and verify our access tokens`() async throws {
        let created = try await world.newAccount("verifier")
        let document = try await service.get("/.well-known/openid-configuration")
        #expect(try document.text("issuer") == service.url)
        #expect(try document.text("jwks_uri") == service.url + "/.well-known/jwks.json")
        let published = try await service.get("/.well-known/jwks.json")
        for answer in [document, published] { #expect(answer.header("Cache-Control")?.contains("max-age=") == true) }
        let keys = try KeySet(parsing: published.body)
        let access = Array(try created.bearer().utf8)
        let token = try UnverifiedToken(access, allowedTypes: ["at+jwt"]).verified(by: keys)
        #expect(token.claims["sub"]?.string == (try created.accountID()))
        #expect(token.claims["sid"]?.string == (try created.sessionID()))
        #expect(token.claims["iss"]?.string == service.url)
        #expect(token.claims["amr"]?.elements?.compactMap(\.string) == ["apple"])
    }
}
