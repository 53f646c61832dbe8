import Synchronization

/// The faults that are set. The oldest one that matches a request applies; one with a count is removed when it is used
/// up.
final class FaultPlan: Sendable {
    struct Entry: Sendable {
        let id: Int64
        var fault: Fault
        var hits = 0
    }

    private struct State {
        var entries: [Entry] = []
        var lastID: Int64 = 0
        var clearings = 0
        /// Of requests that have met a fault.
        var pauses: [Int: Task<Void, Never>] = [:]
        var lastPause = 0
    }

    private let state = Mutex(State())

    var entries: [Entry] { state.withLock { $0.entries } }

    /// How often all faults were cleared.
    var clearings: Int { state.withLock { $0.clearings } }

    func add(_ fault: Fault) -> Entry {
        state.withLock { state in
            state.lastID += 1
            let entry = Entry(id: state.lastID, fault: fault)
            state.entries.append(entry)
            return entry
        }
    }

    /// The fault that this request meets, counted as a hit.
    func nextFault(method: String, path: String) -> Fault? {
        next { $0.name != .altered && $0.matches(method: method, path: path) }
    }

    /// The alteration that an authorization meets whose answer this request makes, counted as a hit.
    func nextAlteration(method: String, path: String) -> Fault? {
        next { $0.name == .altered && $0.matches(method: method, path: path) }
    }

    private func next(where matches: (Fault) -> Bool) -> Fault? {
        state.withLock { state in
            guard let index = state.entries.firstIndex(where: { matches($0.fault) }) else { return nil }
            state.entries[index].hits += 1
            let fault = state.entries[index].fault
            if let remaining = fault.remaining {
                if remaining > 1 {
                    state.entries[index].fault.remaining = remaining - 1
                } else {
                    state.entries.remove(at: index)
                }
            }
            return fault
        }
    }

    func clear(id: Int64) throws(ControlRefusal) {
        let known = state.withLock { state in
            let index = state.entries.firstIndex { $0.id == id }
            if let index { state.entries.remove(at: index) }
            return index != nil
        }
        guard known else { throw .notFound("There is no fault \(id), or it is used up.") }
    }

    func clear() {
        state.withLock { state in
            state.entries = []
            state.clearings += 1
            for pause in state.pauses.values { pause.cancel() }
        }
    }

    /// Waits for so long, or until all faults are cleared.
    ///
    /// - Parameter clearings: how often they had been when the request came.
    func pause(for duration: Duration, since clearings: Int) async throws {
        let pause = Task { _ = try? await Task.sleep(for: duration) }
        let number = state.withLock { state -> Int? in
            guard state.clearings == clearings else { return nil }
            state.lastPause += 1
            state.pauses[state.lastPause] = pause
            return state.lastPause
        }
        guard let number else {
            pause.cancel()
            return
        }
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
        state.withLock { $0.pauses[number] = nil }
        try Task.checkCancellation()
    }
}
