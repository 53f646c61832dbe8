import Logging
import ServiceLifecycle
import UnixSignals

extension ServiceGroup {
    /// Runs the services until a signal arrives or one of them fails, and logs why they ended.
    ///
    /// `ServiceGroup` can wait for signals itself, and keeps to itself which one came.
    func run(until signals: UnixSignalsSequence, logger: Logger) async throws {
        let signal: UnixSignal?
        do {
            signal = try await run(until: signals)
        } catch {
            logger.error("ended", metadata: ["reason": "\(error)"])
            throw error
        }
        logger.notice("ended", metadata: ["reason": "\(signal.map { "\($0)" } ?? "every service ended")"])
    }

    private func run(until signals: UnixSignalsSequence) async throws -> UnixSignal? {
        try await withThrowingTaskGroup(of: Ending.self) { group in
            group.addTask {
                try await self.run()
                return .services
            }
            group.addTask {
                for await signal in signals {
                    await self.triggerGracefulShutdown()
                    return .signal(signal)
                }
                return .signal(nil)
            }
            var cause: UnixSignal?
            while let ending = try await group.next() {
                switch ending {
                case .signal(let signal): cause = signal
                // Ends the wait for a signal that didn't come.
                case .services: group.cancelAll()
                }
            }
            return cause
        }
    }

    private enum Ending {
        case services
        case signal(UnixSignal?)
    }
}
