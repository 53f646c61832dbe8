import JSON
import Synchronization

extension Sandbox {
    package enum Provider: String, Sendable, CaseIterable {
        case apple
        case google
    }

    /// One request that the sandbox received on its provider side.
    package struct Request: Sendable {
        package let id: Int64
        /// Real milliseconds since the sandbox started.
        package let elapsedMilliseconds: Int64
        package let method: String
        package let path: String
        package let query: [(name: String, value: String)]
        package let headers: [(name: String, value: String)]
        package let form: [(name: String, value: String)]
        /// nil when the connection was reset.
        package let status: Int64?
        package let fault: String?
        /// The reason of a token endpoint's refusal, more precise than the provider's error code.
        package let reason: String?

        /// The first value of a form field; that of a secret is its `Sandbox.fingerprint`.
        package func field(_ name: String) -> String? { form.first { $0.name == name }?.value }

        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// A fault of a provider's endpoint; `docs/sandbox.md` says how each looks on the wire.
    package enum Fault: Sendable {
        case delay(milliseconds: Int64)
        case status(Int, body: String? = nil, headers: [(String, String)] = [])
        case html
        case redirect(to: String)
        case oversized(bytes: Int)
        /// Half of the body, then FIN.
        case truncated
        /// Half of the body, then RST.
        case resetMidBody
        case slow(bytesPerSecond: Int)
        /// No answer for ten minutes, or until `clearFaults`, and then a reset.
        case hang
        case reset
        /// The request takes effect and its answer gets lost: a reset `afterwards`.
        case lost
    }

    /// Makes requests to a path fail, `times` times or until `clearFaults`. A path may end in `*`.
    ///
    /// - Parameter afterwards: whether the request takes effect and only its answer fails. It has no meaning for
    ///   `truncated`, `torn` and `slow`, which pass on the real answer, nor for `lost`.
    @discardableResult
    package func fail(
        _ path: String, _ fault: Fault, method: String? = nil, times: Int? = nil, afterwards: Bool = false
    ) async throws -> Int64 {
        let answer = try await control("faults") { writer in
            if afterwards { writer.member("afterwards", true) }
            writer.member("path", path)
            writer.member("method", method)
            if let times { writer.member("times", times) }
            write(fault, &writer)
        }
        guard let id = answer["id"]?.integer else { throw SetUpFailure("A fault without id.") }
        return id
    }

    private func write(_ fault: Fault, _ writer: inout JSONWriter) {
        switch fault {
        case .delay(let milliseconds):
            writer.member("effect", "delay")
            writer.member("delayMilliseconds", milliseconds)
        case .status(let status, let body, let headers):
            writer.member("effect", "status")
            writer.member("status", status)
            writer.member("body", body)
            writer.object("headers") { writer in
                for (name, value) in headers { writer.member(name, value) }
            }
        case .html: writer.member("effect", "html")
        case .redirect(let location):
            writer.member("effect", "redirect")
            writer.member("location", location)
        case .oversized(let bytes):
            writer.member("effect", "oversized")
            writer.member("bytes", bytes)
        case .truncated: writer.member("effect", "truncated")
        case .resetMidBody: writer.member("effect", "torn")
        case .hang: writer.member("effect", "hang")
        case .slow(let rate):
            writer.member("effect", "slow")
            writer.member("bytesPerSecond", rate)
        case .reset: writer.member("effect", "reset")
        case .lost: writer.member("effect", "lost")
        }
    }

    /// What waits by a fault waits no longer.
    package func clearFaults() async throws { try await control("faults/clear", "{}") }

    /// Makes a new key that signs from now on, and returns its id.
    @discardableResult
    package func rotateKeys(_ provider: Provider) async throws -> String {
        try signing(try await control("\(provider.rawValue)/keys/rotate", "{}"))
    }

    /// The id of the key that signs.
    package func signingKeyID(_ provider: Provider) async throws -> String {
        try signing(try await control("\(provider.rawValue)/keys"))
    }

    private func signing(_ listing: JSONValue) throws -> String {
        let key = listing["items"]?.elements?.first { $0["signing"]?.bool == true }
        guard let key else { throw SetUpFailure("No key signs.") }
        return try Self.text(key, "keyId")
    }

    /// Adds a key beside the one that signs.
    package func addKey(_ provider: Provider, id: String, published: Bool = true) async throws {
        try await control("\(provider.rawValue)/keys") { writer in
            writer.member("keyId", id)
            writer.member("published", published)
        }
    }

    package func revokeKey(_ provider: Provider, id: String) async throws {
        try await control("\(provider.rawValue)/keys/revoke") { $0.member("keyId", id) }
    }

    /// Sets the `Cache-Control` of the key set; nil sends none.
    package func setCacheControl(_ provider: Provider, _ value: String?) async throws {
        try await control("\(provider.rawValue)/keys/cache-control") { writer in
            writer.name("value")
            if let value { writer.string(value) } else { writer.null() }
        }
    }

    /// Stops the clock at an RFC 3339 time, or lets it run from there.
    package func setClock(_ time: String, running: Bool = false) async throws {
        try await control("clock/set") { writer in
            writer.member("now", time)
            writer.member("running", running)
        }
    }

    package func advanceClock(by seconds: Int64) async throws {
        try await control("clock/advance") { $0.member("seconds", seconds) }
    }

    /// Restores the initial state: no person, no fault, no history, the first keys, the system's time.
    package func reset() async throws { try await control("reset", "{}") }

    /// The requests that match, in the order of arrival. With a count it waits until there are that many, for `wait`
    /// seconds at most: no test has to sleep.
    package func history(
        path: String? = nil, method: String? = nil, status: Int? = nil, after id: Int64 = 0, count: Int = 0,
        wait: Int = 10
    ) async throws -> [Request] {
        var query = "after=\(id)&count=\(count)&wait=\(count > 0 ? wait : 0)"
        if let path { query += "&path=\(path)" }
        if let method { query += "&method=\(method)" }
        if let status { query += "&status=\(status)" }
        let requests = (try await control("history?\(query)")["items"]?.elements ?? []).map { item in
            Request(
                id: item["id"]?.integer ?? 0, elapsedMilliseconds: item["elapsedMilliseconds"]?.integer ?? 0,
                method: item["method"]?.string ?? "", path: item["path"]?.string ?? "",
                query: Self.fields(item["query"]), headers: Self.fields(item["headers"]),
                form: Self.fields(item["form"]), status: item["status"]?.integer, fault: item["fault"]?.string,
                reason: item["reason"]?.string)
        }
        latest.withLock { $0 = max($0, requests.last?.id ?? 0) }
        return requests
    }

    package func clearHistory() async throws { try await control("history/clear", "{}") }

    private static func fields(_ list: JSONValue?) -> [(name: String, value: String)] {
        (list?.elements ?? []).compactMap { field in
            guard let name = field["name"]?.string, let value = field["value"]?.string else { return nil }
            return (name, value)
        }
    }
}
