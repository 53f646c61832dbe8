import Accounts
import HTTPFetch
import JOSE
import Logging
import OpenSSL
import Providers
import Synchronization
import TestSupport

/// A provider's key address on loopback, a cache that reads it, and the clock of both.
struct KeyServer {
    /// What the address answers, changeable while it is up.
    final class Script: Sendable {
        private let steps: Mutex<[LoopbackServer.Step]>

        init(_ steps: [LoopbackServer.Step]) { self.steps = Mutex(steps) }

        var current: [LoopbackServer.Step] { steps.withLock(\.self) }

        func set(_ steps: LoopbackServer.Step...) { set(steps) }

        func set(_ steps: [LoopbackServer.Step]) { self.steps.withLock { $0 = steps } }
    }

    let clock = ManualClock(at: referenceTime)
    let log = LogRecorder.Book()
    let script: Script
    let server: LoopbackServer
    let cache: KeySetCache

    /// - Parameter timeout: in place of the cache's own of 5 s.
    init(
        _ provider: Provider = .google, fetcher: CurlFetcher, timeout: Duration? = nil,
        answering steps: LoopbackServer.Step...
    ) throws {
        let script = Script(steps)
        let book = log
        self.script = script
        server = try LoopbackServer { _ in script.current }
        cache = KeySetCache(
            provider: provider, url: "\(server.url)/keys",
            fetcher: timeout.map { ImpatientFetcher(fetcher: fetcher, timeout: $0) } ?? fetcher, clock: clock,
            logger: Logger(label: "test") { _ in LogRecorder(book: book) })
    }

    /// Requests that have reached the server.
    var fetches: Int { server.history.requests.count }

    /// Whether the key of this `kid` can be had.
    func has(_ keyID: String) async throws -> Bool {
        try await cache.keys(for: Array(keyID.utf8)).keyIDs.contains(keyID)
    }
}

/// Asks with a shorter timeout, so that a test of slowness is quick.
private struct ImpatientFetcher: Fetcher {
    let fetcher: CurlFetcher
    let timeout: Duration

    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        var request = request
        request.timeout = timeout
        return try await fetcher.fetch(request)
    }
}

extension LoopbackServer.Step {
    /// A key set with one key under each of these `kid`s.
    static func keys(_ keyIDs: String..., headers: [(String, String)] = []) throws -> LoopbackServer.Step {
        let key = try TokenMint.shared.p256
        return .respond(headers: headers, body: PublicJWK.document(keyIDs.map { PublicJWK(key, keyID: $0) }))
    }
}

/// Runs `body` with a fetcher that is shut down at the end.
func withFetcher(_ body: (CurlFetcher) async throws -> Void) async throws {
    let fetcher = try CurlFetcher()
    do {
        try await body(fetcher)
    } catch {
        await fetcher.shutdown()
        throw error
    }
    await fetcher.shutdown()
}
