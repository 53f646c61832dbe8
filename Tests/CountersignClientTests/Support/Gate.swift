import Foundation

@testable import CountersignClient

/// Holds threads until it is opened; each wait ends after a minute, so that a test that fails ends.
final class Gate: @unchecked Sendable {  // Sendable because the state is reached with the lock held only.
    private let condition = NSCondition()
    private var isOpen = false
    private var waiting = 0

    func wait() {
        condition.lock()
        defer { condition.unlock() }
        waiting += 1
        condition.broadcast()
        let end = Date(timeIntervalSinceNow: 60)
        while !isOpen, condition.wait(until: end) {}
    }

    /// `wait` for tasks: the few threads that run them must not be blocked.
    func passed() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.wait()
                continuation.resume()
            }
        }
    }

    func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }

    /// Until somebody waits at the gate.
    func reached() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.condition.lock()
                let end = Date(timeIntervalSinceNow: 60)
                while self.waiting == 0, self.condition.wait(until: end) {}
                self.condition.unlock()
                continuation.resume()
            }
        }
    }
}

/// A clock that stands until a test moves it.
final class TestClock: Sendable {
    /// 2026-11-21T04:00:00Z
    static let start = Date(timeIntervalSince1970: 1_795_233_600)

    private let time = Locked(TestClock.start)

    var now: Date { time.withLock { $0 } }

    func advance(_ seconds: Double) { time.withLock { $0.addTimeInterval(seconds) } }
}

/// A store in memory that fails on demand, and counts.
final class FaultyStore: SessionStore {
    struct Fault: Error {
        /// What must not show in an error.
        let detail = "rt_secret_of_the_store"
    }

    enum Call: Sendable, CaseIterable {
        case load
        case save
        case remove
    }

    private let state = Locked<(data: Data?, faults: Set<Call>, saves: [Data])>((nil, [], []))

    init(_ data: Data? = nil, failing faults: Set<Call> = []) { state.withLock { $0 = (data, faults, []) } }

    func fail(_ faults: Set<Call>) { state.withLock { $0.faults = faults } }

    /// What is stored, past any fault.
    var content: Data? { state.withLock { $0.data } }
    /// Each document that was saved.
    var saves: [Data] { state.withLock { $0.saves } }

    func put(_ data: Data?) { state.withLock { $0.data = data } }

    func load() throws -> Data? {
        try state.withLock { state throws(Fault) in
            if state.faults.contains(.load) { throw Fault() }
            return state.data
        }
    }

    func save(_ data: Data) throws {
        try state.withLock { state throws(Fault) in
            if state.faults.contains(.save) { throw Fault() }
            state.data = data
            state.saves.append(data)
        }
    }

    func remove() throws {
        try state.withLock { state throws(Fault) in
            if state.faults.contains(.remove) { throw Fault() }
            state.data = nil
        }
    }
}
