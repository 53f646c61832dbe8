import Curl
import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FetchRefusalTests {
    @Test(arguments: [
        "", "https", "https://", "//appleid.apple.com/auth/keys", "/auth/keys", "https://user@host.example/",
        "https://user:password@host.example/", "https://@host.example/", "https://host.example/a b",
        "https://host.example/\r\nX-Injected: 1", "https://host.example/\u{0}", "https://host.example/\u{7F}",
        "https://host.example\\@evil.example/", "https://host.example/\\evil", "https://hôst.example/",
        "https://host.example:99999/",
        "https://host.example:port/", "https://[::1", "https://" + String(repeating: "a", count: 9_000),
    ])
    func `a URL that could be read in two ways is refused`(url: String) async throws {
        try await withFetcher { fetcher in
            await #expect(throws: FetchError(.invalidURL)) { try await fetcher.fetch(.forTests(url: url)) }
        }
    }

    @Test(arguments: [
        "http://host.example/", "http://10.0.0.1/", "http://169.254.169.254/", "http://0/", "http://128.0.0.1/",
        "http://[::ffff:127.0.0.1]/", "http://[fe80::1]/", "http://127.0.0.1.example/", "http://localhost.example/",
        "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "smtp://127.0.0.1/", "javascript://127.0.0.1/",
    ])
    func `only https, and http to this machine, is spoken`(url: String) async throws {
        try await withFetcher { fetcher in
            await #expect(throws: FetchError(.protocolRefused)) { try await fetcher.fetch(.forTests(url: url)) }
        }
    }

    @Test func `http beyond this machine is spoken where the request says so, and no other protocol`() async throws {
        // The kernel takes the unspecified address for loopback; the rule above does not.
        let server = try LoopbackServer { _ in [.respond()] }
        try await withFetcher { fetcher in
            func request(_ url: String) -> FetchRequest {
                var request = FetchRequest.forTests(url: url)
                request.allowsHTTP = true
                return request
            }
            let response = try await fetcher.fetch(request("http://0.0.0.0:\(server.port)/"))
            #expect(response.status == 200)
            await #expect(throws: FetchError(.protocolRefused)) {
                try await fetcher.fetch(request("ftp://0.0.0.0:\(server.port)/"))
            }
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1", "127.1", "2130706433", "LOCALHOST"])
    func `http to this machine is spoken under each of its names`(host: String) async throws {
        let server = try LoopbackServer { _ in [.respond()] }
        try await withFetcher { fetcher in
            let response = try await fetcher.fetch(.forTests(url: "http://\(host):\(server.port)/"))
            #expect(response.status == 200)
        }
    }

    @Test(arguments: [
        ("X-A", "1\r\nX-Injected: 1"), ("X-A", "1\nX-Injected: 1"), ("X-A", "\u{0}"), ("X-A", "é"), ("X A", "1"),
        ("X-A:", "1"), ("", "1"), ("X-Ä", "1"), ("Host", "evil.example"), ("content-length", "3"),
        ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Expect", "100-continue"), ("Upgrade", "h2c"),
    ])
    func `a header that could change the framing is refused`(name: String, value: String) async throws {
        let server = try LoopbackServer { _ in [.respond()] }
        try await withFetcher { fetcher in
            await #expect(throws: FetchError(.invalidHeader)) {
                try await fetcher.fetch(.forTests(url: server.url, headers: [(name, value)]))
            }
        }
        #expect(server.history.opened == 0)
    }

    @Test func `no proxy is taken from the environment`() async {
        // In a process of its own: setting a variable races with every thread that reads one.
        await #expect(processExitsWith: .success) {
            let proxy = try LoopbackServer { _ in [.respond(502)] }
            let server = try LoopbackServer { _ in [.respond(200)] }
            setenv("http_proxy", proxy.url, 1)
            setenv("all_proxy", proxy.url, 1)
            try await withFetcher { fetcher in
                let response = try await fetcher.fetch(.forTests(url: server.url))
                #expect(response.status == 200)
            }
            #expect(proxy.history.opened == 0)
        }
    }

    @Test func `no cookie and no alternative service is remembered`() async throws {
        let server = try LoopbackServer { _ in
            [.respond(headers: [("Set-Cookie", "a=b"), ("Alt-Svc", "h2=\"127.0.0.1:1\"; ma=3600")])]
        }
        try await withFetcher { fetcher in
            for _ in 0..<2 { _ = try await fetcher.fetch(.forTests(url: server.url)) }
        }
        #expect(server.history.requests.count == 2)
        #expect(server.history.requests.allSatisfy { $0.header("Cookie") == nil })
    }
}
