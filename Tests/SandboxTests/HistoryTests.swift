import Curl
import JSON
import TestSupport
import Testing

@Suite(.fixture(Sandbox.self)) struct HistoryTests {
    private var sandbox: Sandbox { .current }

    @Test func `every request to the provider side is noted in order and the controls are not`() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        _ = try await sandbox.get("/apple/auth/keys?a=1&a=2%20x")
        _ = try await sandbox.get("/nowhere")
        _ = try await sandbox.control("clock")
        let history = try await sandbox.history()
        #expect(history.map(\.path) == ["/apple/auth/keys", "/nowhere"])
        #expect(history.map(\.method) == ["GET", "GET"])
        #expect(history.map(\.status) == [200, 404])
        #expect(history[0].query.map(\.value) == ["1", "2 x"])
        #expect(history[0].elapsedMilliseconds <= history[1].elapsedMilliseconds)
        #expect(history[0].header("User-Agent") != nil)
        let items = try await sandbox.control("history")["items"]?.elements
        #expect(items?.first?["time"]?.string == "2026-01-01T12:00:00Z")
    }

    @Test func `secrets appear as fingerprints in forms, queries and headers`() async throws {
        var request = FetchRequest.form(
            url: sandbox.url + "/google/revoke?token=query-secret",
            fields: [
                ("client_id", "web"), ("client_secret", "form-secret"), ("code", "code-secret"),
                ("refresh_token", "refresh-secret"), ("redirect_uri", ""),
            ])
        request.headers.append(("Authorization", "Bearer header-secret"))
        _ = try await sandbox.fetcher.fetch(request.uncontended)
        let entry = try #require(try await sandbox.history(path: "/google/revoke").first)
        #expect(entry.field("client_id") == "web")
        #expect(entry.field("client_secret") == Sandbox.fingerprint("form-secret"))
        #expect(entry.field("code") == Sandbox.fingerprint("code-secret"))
        #expect(entry.field("refresh_token") == Sandbox.fingerprint("refresh-secret"))
        #expect(entry.field("redirect_uri") == "")
        #expect(entry.query.first?.value == Sandbox.fingerprint("query-secret"))
        #expect(entry.header("authorization") == Sandbox.fingerprint("Bearer header-secret"))
        let raw = try await sandbox.fetcher.fetch(FetchRequest(url: sandbox.url + "/control/history").uncontended)
        #expect(!String(decoding: raw.body, as: UTF8.self).contains("-secret"))
    }

    @Test func `a body that is no form is kept as its length and fingerprint alone`() async throws {
        let body = #"{"token":"json-secret"}"#
        _ = try await sandbox.fetcher.fetch(
            FetchRequest(
                .post, url: sandbox.url + "/google/anything", headers: [("Content-Type", "application/json")],
                body: Array(body.utf8)
            ).uncontended)
        let item = try #require(try await sandbox.control("history")["items"]?.elements?.first)
        #expect(item["form"] == nil)
        #expect(item["body"]?["bytes"]?.integer == Int64(body.utf8.count))
        #expect(item["body"]?["fingerprint"]?.string == Sandbox.fingerprint(body))
    }

    @Test(.sharedSandbox) func `a body of more than a mebibyte is refused`() async throws {
        let answer = try await sandbox.fetcher.fetch(
            FetchRequest(
                .post, url: sandbox.url + "/google/token", body: Array(repeating: 0x61, count: (1 << 20) + 1)
            ).uncontended)
        #expect(answer.status == 413)
    }

    @Test func `filters choose by path, method, status and number, and clearing forgets`() async throws {
        _ = try await sandbox.get("/apple/auth/keys")
        _ = try await sandbox.get("/google/oauth2/v3/certs")
        let form = FetchRequest.form(url: sandbox.url + "/google/nowhere", fields: [])
        _ = try await sandbox.fetcher.fetch(form.uncontended)
        #expect(try await sandbox.history(path: "/google/*").count == 2)
        #expect(try await sandbox.history(path: "/google/nowhere").map(\.method) == ["POST"])
        #expect(try await sandbox.history(method: "GET").count == 2)
        #expect(try await sandbox.history(status: 404).map(\.path) == ["/google/nowhere"])
        let first = try #require(try await sandbox.history().first)
        #expect(try await sandbox.history(after: first.id).count == 2)
        try await sandbox.clearHistory()
        #expect(try await sandbox.history().isEmpty)
    }

    @Test func `waiting for a count ends when the requests have come`() async throws {
        async let expected = sandbox.history(path: "/apple/auth/keys", count: 2, wait: 60)
        _ = try await sandbox.get("/apple/auth/keys")
        _ = try await sandbox.get("/apple/auth/keys")
        #expect(try await expected.count == 2)
        #expect(try await sandbox.history(path: "/google/*", count: 1, wait: 0).isEmpty)
    }

    @Test(
        .sharedSandbox,
        arguments: ["pfad=/x", "status=abc", "status=99", "wait=61", "count=-1", "after=1e300", "path=%zz"])
    func `a query with unknown or invalid parameters is refused`(_ query: String) async throws {
        let answer = try await sandbox.get("/control/history?\(query)")
        #expect(answer.status == 400)
    }
}
