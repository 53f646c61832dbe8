import Synchronization
import UnixSignals

/// Whether SIGTERM or SIGINT has come, which no longer end the process by themselves.
final class StopSignal: Sendable {
    private let flag = Mutex(false)

    init() async {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        Task {
            for await _ in signals { flag.withLock { $0 = true } }
        }
    }

    var isRaised: Bool { flag.withLock(\.self) }

    /// Runs the body in a task, which is cancelled when one comes.
    static func cancelling(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let work = Task { try await body() }
        let watch = Task {
            for await _ in signals { work.cancel() }
        }
        defer { watch.cancel() }
        try await work.value
    }
}
