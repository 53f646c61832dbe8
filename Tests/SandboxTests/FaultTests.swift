import Curl
import JOSE
import JSON
import TestSupport
import Testing

@Suite(.fixture(Sandbox.self)) struct FaultTests {
    private var sandbox: Sandbox { .current }

    private static let keys = "/apple/auth/keys"
    private static let refused = Result { try DataFile("Fixtures/refused-faults.tsv").rows }

    /// The failure of one request for Apple's keys, on a connection of its own: libcurl repeats a request by itself
    /// when a connection that it had kept breaks before an answer.
    private func failure(timeout: Duration? = nil) async -> FetchError.Code? {
        do throws(FetchError) {
            var request = FetchRequest(url: sandbox.appleKeysURL, maximumBodyBytes: 65_536).uncontended
            if let timeout { request.timeout = timeout }
            _ = try await CurlFetcher().fetch(request)
            return nil
        } catch { return error.code }
    }

    @Test func `a status answers in place of the real thing, so many times`() async throws {
        try await sandbox.fail(Self.keys, .status(503, body: "later", headers: [("Retry-After", "7")]), times: 2)
        for _ in 1...2 {
            let answer = try await sandbox.get(Self.keys)
            #expect(answer.status == 503)
            #expect(answer.headers.first("Retry-After") == "7")
            #expect(answer.body == Array("later".utf8))
        }
        #expect(try await sandbox.get(Self.keys).status == 200)
    }

    @Test func `a fault without a count stays until it is cleared and meets its path and method alone`() async throws {
        try await sandbox.fail(Self.keys, .status(500), method: "GET")
        for _ in 1...3 { #expect(try await sandbox.get(Self.keys).status == 500) }
        #expect(try await sandbox.get("/google/oauth2/v3/certs").status == 200)
        let post = try await sandbox.fetcher.fetch(FetchRequest(.post, url: sandbox.appleKeysURL).uncontended)
        #expect(post.status == 404)
        try await sandbox.clearFaults()
        #expect(try await sandbox.get(Self.keys).status == 200)
    }

    @Test func `a path that ends in a star meets everything below it and one fault can be cleared alone`() async throws
    {
        let id = try await sandbox.fail("/apple/*", .status(502))
        try await sandbox.fail("/google/*", .status(504))
        #expect(try await sandbox.get("/apple/.well-known/openid-configuration").status == 502)
        try await sandbox.control("faults/clear") { $0.member("id", id) }
        #expect(try await sandbox.get(Self.keys).status == 200)
        #expect(try await sandbox.get("/google/oauth2/v3/certs").status == 504)
        #expect(try await sandbox.refusal("faults/clear", #"{"id":\#(id)}"#).status == 404)
    }

    @Test func `a page of HTML comes with the status of success`() async throws {
        try await sandbox.fail(Self.keys, .html)
        let answer = try await sandbox.get(Self.keys)
        #expect(answer.status == 200)
        #expect(answer.headers.first("Content-Type") == "text/html;charset=UTF-8")
        #expect(answer.body.starts(with: Array("<!DOCTYPE html>".utf8)))
    }

    @Test func `a redirect names the place`() async throws {
        try await sandbox.fail(Self.keys, .redirect(to: "http://127.0.0.1:9/"))
        let answer = try await sandbox.get(Self.keys)
        #expect(answer.status == 302)
        #expect(answer.headers.first("Location") == "http://127.0.0.1:9/")
    }

    @Test func `an oversized body is as long as it was asked to be`() async throws {
        try await sandbox.fail(Self.keys, .oversized(bytes: 65_536), times: 1)
        #expect(await failure() == nil)
        try await sandbox.fail(Self.keys, .oversized(bytes: 65_537), times: 1)
        #expect(await failure() == .tooLarge)
    }

    @Test func `truncated, reset and lost answers all end in a closed connection`() async throws {
        for fault in [Sandbox.Fault.truncated, .reset, .lost] {
            try await sandbox.fail(Self.keys, fault, times: 1)
            #expect(await failure() == .closed, "\(fault)")
        }
        #expect(await failure() == nil)
        let history = try await sandbox.history(path: Self.keys)
        #expect(history.map(\.fault) == ["truncated", "reset", "lost", nil])
        #expect(history.map(\.status) == [200, nil, nil, 200])
    }

    @Test func `a reset does nothing first and a lost answer does everything first`() async throws {
        let first = try await sandbox.keySet(.apple).keyIDs
        let unchanged = try await sandbox.keySet(.apple).keyIDs
        try await sandbox.fail(Self.keys, .reset, times: 1)
        #expect(await failure() == .closed)
        // Apple's order goes on with every fetch that was handled; three keys make three orders.
        let third = try await sandbox.keySet(.apple).keyIDs
        #expect(Set([first, unchanged, third]).count == 3)
        try await sandbox.fail(Self.keys, .lost, times: 1)
        #expect(await failure() == .closed)
        #expect(try await sandbox.keySet(.apple).keyIDs == unchanged)
    }

    @Test func `a path that does not exist can fail too`() async throws {
        try await sandbox.fail("/google/nowhere", .lost)
        await #expect(throws: FetchError.self) { try await sandbox.get("/google/nowhere") }
        #expect(try await sandbox.history().first?.fault == "lost")
    }

    @Test func `slow bytes, a delay and no answer at all outlast the caller's timeout`() async throws {
        #expect(await failure() == nil)
        for fault in [Sandbox.Fault.slow(bytesPerSecond: 1), .delay(milliseconds: 60_000), .hang] {
            try await sandbox.fail(Self.keys, fault, times: 1)
            #expect(await failure(timeout: .milliseconds(200)) == .timedOut, "\(fault)")
        }
        try await sandbox.fail(Self.keys, .delay(milliseconds: 1), times: 1)
        #expect(await failure() == nil)
        try await sandbox.fail(Self.keys, .slow(bytesPerSecond: 1000), times: 1)
        #expect(await failure() == nil)
    }

    @Test func `when all faults are cleared a delay is over, and what hangs is reset`() async throws {
        for (count, fault, code) in [
            (1, .delay(milliseconds: 600_000), nil), (2, .hang, .closed),
        ] as [(Int, Sandbox.Fault, FetchError.Code?)] {
            try await sandbox.fail(Self.keys, fault, times: 1)
            async let waiting = failure()
            while try await sandbox.history(path: Self.keys, count: count).last?.fault == nil {
                try await pollingPause()
            }
            try await sandbox.clearFaults()
            let ending = await waiting
            #expect(ending == code, "\(fault)")
        }
    }

    @Test(.sharedSandbox, arguments: try refused.get().map { $0[0] })
    func `a fault that makes no sense is refused`(_ body: String) async throws {
        let refusal = try await sandbox.refusal("faults", body)
        #expect(refusal.status == 400)
        #expect(refusal.error == "invalid_request")
        #expect(try await sandbox.control("faults")["items"]?.elements?.isEmpty == true)
    }
}
