import Accounts
import Curl
import JOSE
import OpenSSL
import Providers
import Synchronization
import TestSupport
import Testing

/// A provider's key-set URL on loopback, a cache that reads it, and the clock of both.
struct KeyServer {
    /// The answers of the URL and the timeout of the cache; changeable while both are up.
    final class Script: Sendable {
        private let state: Mutex<(steps: [LoopbackServer.Step], timeout: Duration)>

        init(_ steps: [LoopbackServer.Step]) { state = Mutex((steps, .seconds(50))) }

        var steps: [LoopbackServer.Step] { state.withLock(\.steps) }
        var timeout: Duration { state.withLock(\.timeout) }

        func set(_ steps: LoopbackServer.Step...) { set(steps) }

        func set(_ steps: [LoopbackServer.Step], timeout: Duration = .seconds(50)) {
            state.withLock { $0 = (steps, timeout) }
        }
    }

    let clock = ManualClock(at: referenceTime)
    let log = RecordingLog()
    let script: Script
    let server: LoopbackServer
    let cache: KeySetCache

    init(_ provider: Provider = .google, fetcher: CurlFetcher, answering steps: LoopbackServer.Step...) throws {
        try self.init(provider, fetcher: fetcher, answering: steps)
    }

    init(_ provider: Provider, fetcher: CurlFetcher, answering steps: [LoopbackServer.Step]) throws {
        let script = Script(steps)
        self.script = script
        server = try LoopbackServer { _ in script.steps }
        // The script's timeout in place of five seconds: much less when the server is to be slow, and more when only the
        // machine is.
        let fetcher = RecordingFetcher(fetcher) { request in
            #expect(request.timeout == .seconds(5))
            #expect(request.maximumBodyBytes == 65_536)
            request.timeout = script.timeout
            request.connectTimeout = script.timeout
        }
        cache = KeySetCache(
            provider: provider, url: "\(server.url)/keys", fetcher: fetcher, clock: clock, logger: log.logger)
    }

    /// Requests that have reached the server.
    var fetches: Int { server.history.requests.count }

    /// Whether the cache returns the key of this `kid`.
    func has(_ keyID: String) async throws -> Bool {
        try await cache.keys(for: Array(keyID.utf8)).keyIDs.contains(keyID)
    }

    typealias Outcome = Result<Bool, CredentialRefusal>

    /// Asks for the keys of these `kid`s at once, while the fetch that they cause is held.
    ///
    /// - Parameters:
    ///   - number: of the fetch, from 1.
    ///   - meanwhile: runs when all have been refused that have no place to wait; then the fetch is released.
    /// - Returns: the outcomes of those, and of those that have waited.
    func outcomes(
        of keyIDs: [String], duringFetch number: Int, _ meanwhile: () async throws -> Void = {}
    ) async throws -> (refused: [Outcome], waited: [Outcome]) {
        let refused = keyIDs.count - KeySetCache.places
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            for keyID in keyIDs { group.addTask { await outcome(of: keyID) } }
            var outcomes: [Outcome] = []
            for try await outcome in group {
                outcomes.append(outcome)
                guard outcomes.count == refused else { continue }
                await server.history { $0.requests.count == number }
                try await meanwhile()
                server.release()
            }
            return (Array(outcomes.prefix(refused)), Array(outcomes.dropFirst(refused)))
        }
    }

    private func outcome(of keyID: String) async -> Outcome {
        do throws(CredentialRefusal) {
            return .success(try await cache.keys(for: Array(keyID.utf8)).keyIDs.contains(keyID))
        } catch {
            return .failure(error)
        }
    }
}

/// Runs `body` with a key-set URL that answers with these steps.
func withKeyServer(answering steps: LoopbackServer.Step..., body: (KeyServer) async throws -> Void) async throws {
    try await withFetcher { try await body(KeyServer(.google, fetcher: $0, answering: steps)) }
}

extension LoopbackServer.Step {
    /// A key set with one key under each of these `kid`s.
    static func keys(_ keyIDs: String..., headers: [(String, String)] = []) throws -> LoopbackServer.Step {
        let key = try TokenMint.shared.p256
        return .respond(headers: headers, body: PublicJWK.document(keyIDs.map { PublicJWK(key, keyID: $0) }))
    }
}
