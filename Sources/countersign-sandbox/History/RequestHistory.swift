import Synchronization

/// Every request that reached the provider side, in the order of arrival.
final class RequestHistory: Sendable {
    struct Entry: Sendable {
        enum Body: Sendable {
            case none
            case form([(name: String, value: String)])
            /// Any other body is not kept: it may contain a secret that isn't recognized as one.
            case other(bytes: Int, fingerprint: String)
        }

        let id: Int64
        /// By the sandbox's clock, seconds.
        let time: Int64
        /// Milliseconds of real time since the sandbox started, for tests of timing.
        let elapsed: Int64
        let method: String
        let path: String
        let query: [(name: String, value: String)]
        let headers: [(name: String, value: String)]
        let body: Body
        /// nil until the response, and for good if the connection was reset.
        var status: Int?
        var fault: String?
        /// The reason for a refusal, in more detail than the response has.
        var reason: String?
    }

    struct Filter: Sendable {
        var path: String?
        var method: String?
        var status: Int64?
        var after: Int64 = 0

        func admits(_ entry: Entry) -> Bool {
            guard entry.id > after else { return false }
            if let method, method != entry.method { return false }
            if let status, status != entry.status.map(Int64.init) { return false }
            guard let path else { return true }
            return path.hasSuffix("*") ? entry.path.hasPrefix(path.dropLast()) : entry.path == path
        }
    }

    /// Entries that are kept; `dropped` counts the older ones.
    static let capacity = 10_000

    private struct State {
        var entries: [Entry] = []
        var lastID: Int64 = 0
        var dropped: Int64 = 0
    }

    private let state = Mutex(State())
    private let clock: SandboxClock
    private let start = ContinuousClock.now

    init(clock: SandboxClock) { self.clock = clock }

    var dropped: Int64 { state.withLock { $0.dropped } }

    /// Records a request. Returns the id by which its outcome is added.
    func begin(
        method: String, path: String, query: [(name: String, value: String)],
        headers: [(name: String, value: String)], body: Entry.Body
    ) -> Int64 {
        let time = clock.now
        let elapsed = Int64((ContinuousClock.now - start) / .milliseconds(1))
        return state.withLock { state in
            state.lastID += 1
            state.entries.append(
                Entry(
                    id: state.lastID, time: time, elapsed: elapsed, method: method, path: path, query: query,
                    headers: headers, body: body))
            // A tenth at once, so that a long run does not move the whole array on every request.
            if state.entries.count > Self.capacity {
                state.entries.removeFirst(Self.capacity / 10)
                state.dropped += Int64(Self.capacity / 10)
            }
            return state.lastID
        }
    }

    func note(fault: String, in id: Int64) { change(id) { $0.fault = fault } }

    func note(reason: String, in id: Int64) { change(id) { $0.reason = reason } }

    func finish(_ id: Int64, status: Int) { change(id) { $0.status = status } }

    private func change(_ id: Int64, _ change: (inout Entry) -> Void) {
        state.withLock { state in
            guard let index = state.entries.lastIndex(where: { $0.id == id }) else { return }
            change(&state.entries[index])
        }
    }

    func entries(_ filter: Filter) -> [Entry] { state.withLock { $0.entries }.filter(filter.admits) }

    /// Waits until `count` entries match, or until the timeout: a test that expects a request waits here instead of
    /// sleeping.
    func entries(_ filter: Filter, count: Int64, within timeout: Duration) async throws -> [Entry] {
        let deadline = ContinuousClock.now + timeout
        while true {
            let found = entries(filter)
            if found.count >= count || ContinuousClock.now >= deadline { return found }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    func clear() {
        state.withLock { state in
            state.entries = []
            state.dropped = 0
        }
    }
}
