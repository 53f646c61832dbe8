package import Accounts
package import Storage

/// One run of an import: a source's rows, checked, decided and written batch by batch, each of them in the report. A rehearsal
/// takes the same way and writes nothing that another could see.
package struct ImportRun: Sendable {
    package let name: ImportName
    /// The word for the kind of source.
    package let source: String
    package let rules: RowRules
    package let isRehearsal: Bool
    private let store: ImportStore
    private let clock: any WallClock
    /// Of the operator who imports.
    private let origin: ChangeOrigin
    /// Whether to end behind the batch at hand.
    private let isStopped: @Sendable () -> Bool

    package init(
        name: ImportName, source: String, rules: RowRules, isRehearsal: Bool, store: ImportStore,
        clock: any WallClock, origin: ChangeOrigin, isStopped: @escaping @Sendable () -> Bool
    ) {
        self.name = name
        self.source = source
        self.rules = rules
        self.isRehearsal = isRehearsal
        self.store = store
        self.clock = clock
        self.origin = origin
        self.isStopped = isStopped
    }

    package enum Ending: Equatable, Sendable {
        /// - Parameter isWhole: whether the source is all, and not one page of several.
        case done(isWhole: Bool)
        case stopped
        /// Another run of this name is under way.
        case busy
    }

    /// - Parameters:
    ///   - rows: makes the source, which is read from one task alone.
    ///   - report: takes the results of a batch in their order, and the number of the first of them, from 1.
    /// - Throws: `OtherImportSource` before anything is read.
    package func run(
        _ rows: @escaping @Sendable () async throws -> any ImportSource,
        report: @escaping @Sendable (_ results: [ImportResult], _ first: Int) async throws -> Void
    ) async throws -> Ending {
        if isRehearsal {
            try await store.requireSource(source, of: name)
            return try await store.rehearse { rehearsal in
                let call = clock.call(by: origin)
                let run = try await store.find(name) ?? .rehearsed(at: call.now)
                return try await merge(rows, report) { batch, call in
                    try await rehearsal.merge(batch, of: run, by: call)
                }
            }
        }
        let ending = try await store.alone(name) { lock in
            try await store.requireSource(source, of: name)
            let degree = rules.verified == .proven ? "; verified means proven" : ""
            let run = try await store.begin(name, source: source, by: clock.call(by: origin))
            let counts = Counted()
            func finish(_ state: ImportRecord.State) async throws {
                let total = await counts.counts
                let end = state == .finished ? "" : "; \(state.rawValue)"
                try await store.finish(
                    run, as: state, counts: total.all, summary: "\(name): \(total.summary)\(degree)\(end)",
                    by: clock.call(by: origin))
            }
            do {
                let ending = try await merge(rows) { results, first in
                    await counts.add(results)
                    try await report(results, first)
                } _: { batch, call in
                    try await lock.requireHeld()
                    return try await store.merge(batch, of: run, by: call)
                }
                try await finish(ending == .stopped ? .stopped : .finished)
                return ending
            } catch {
                // Whole batches stay, and so they are recorded, unless it is our own database that is away.
                try? await finish(.failed)
                throw error
            }
        }
        return ending ?? .busy
    }

    /// Of a batch, about.
    private static let maximumBatchBytes = 1 << 20

    private actor Counted {
        private(set) var counts = ImportCounts()
        func add(_ results: [ImportResult]) { for result in results { counts.add(result) } }
    }

    private func merge(
        _ rows: @Sendable () async throws -> any ImportSource,
        _ report: @Sendable ([ImportResult], Int) async throws -> Void,
        _ write: @Sendable ([ImportRow], Call) async throws -> [ImportResult]
    ) async throws -> Ending {
        var source: any ImportSource
        do { source = try await rows() } catch is InputStopped { return .stopped }
        var pace = ImportPace()
        var first = 1
        var isAtEnd = false
        while !isAtEnd {
            if isStopped() { return .stopped }
            let call = clock.call(by: origin)
            var batch: [ImportRow] = []
            var bytes = 0
            while batch.count < pace.batch, bytes < Self.maximumBatchBytes {
                let next: SourceRow?
                // What was read before the stop is written.
                do { next = try await source.next() } catch is InputStopped { next = nil }
                guard let row = next else {
                    isAtEnd = true
                    break
                }
                let checked = try rules.check(row, at: call.now)
                bytes += checked.byteCount
                batch.append(checked)
            }
            guard !batch.isEmpty else { break }
            let begin = ContinuousClock.now
            let results = try await write(batch, call)
            try await report(results, first)
            first += batch.count
            try await pace.rest(after: ContinuousClock.now - begin, in: store)
        }
        // An input that waited for more has ended by the stop.
        return isStopped() ? .stopped : .done(isWhole: source.isWhole)
    }
}
