import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import countersign

/// The parts of `serve` at a shutdown.
@Suite(.timeLimit(.minutes(5))) struct ShutdownTests {
    /// An event to wait for, also in a cancelled task.
    private final class Latch: Sendable {
        private let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func open() { continuation.finish() }

        func wait() async { await Task { [stream] in for await _ in stream {} }.value }
    }

    private struct Work: Service {
        let body: @Sendable () async throws -> Void

        func run() async throws { try await body() }
    }

    private static let logger = Logger(label: "shutdown", factory: { _ in SwiftLogNoOpLogHandler() })

    private static func group(_ services: [any Service]) -> ServiceGroup {
        ServiceGroup(services: services, logger: logger)
    }

    @Test func `services side by side learn of the shutdown at once`() async throws {
        let hasLearned = Latch()
        let group = Self.group([
            ConcurrentServices(
                "both",
                [
                    Work {
                        try await gracefulShutdown()
                        hasLearned.open()
                    },
                    // One after the other it would wait for ever.
                    Work {
                        try await gracefulShutdown()
                        await hasLearned.wait()
                    },
                ])
        ])
        async let running: Void = group.run()
        await group.triggerGracefulShutdown()
        try await running
    }

    @Test func `the first of them that fails ends the others`() async throws {
        struct Failure: Error {}
        let services = ConcurrentServices(
            "both", [Work { throw Failure() }, Work { try await Task.sleep(for: .seconds(600)) }])
        await #expect(throws: Failure.self) { try await Self.group([services]).run() }
    }

    @Test func `a round that has begun ends, and no other begins`() async throws {
        let (hasBegun, mayEnd) = (Latch(), Latch())
        let rounds = Mutex(0)
        let work = RecurringWork(name: "rounds", pause: .zero, logger: Self.logger) {
            rounds.withLock { $0 += 1 }
            hasBegun.open()
            await mayEnd.wait()
            return true
        }
        let group = Self.group([
            ConcurrentServices(
                "both",
                [
                    work,
                    Work {
                        try await gracefulShutdown()
                        mayEnd.open()
                    },
                ])
        ])
        async let running: Void = group.run()
        await hasBegun.wait()
        await group.triggerGracefulShutdown()
        try await running
        #expect(rounds.withLock(\.self) == 1)
    }

    @Test func `a shutdown that takes too long ends the process`() async throws {
        let (hasExited, mayEnd) = (Latch(), Latch())
        let group = Self.group([
            Work {
                try await gracefulShutdown()
                await mayEnd.wait()
            },
            ShutdownLimit(limit: .milliseconds(20), logger: Self.logger, ending: {}, exit: hasExited.open),
        ])
        async let running: Void = group.run()
        await group.triggerGracefulShutdown()
        await hasExited.wait()
        mayEnd.open()
        try await running
    }

    @Test func `before that it ends what is in memory alone, and the process doesn't wait for it`() async throws {
        let (hasBegun, hasExited, mayEnd, isOver) = (Latch(), Latch(), Latch(), Latch())
        let steps = Mutex<[String]>([])
        let group = Self.group([
            Work {
                try await gracefulShutdown()
                await mayEnd.wait()
            },
            ShutdownLimit(
                limit: ShutdownLimit.forEnding, logger: Self.logger,
                ending: {
                    steps.withLock { $0.append("ending") }
                    hasBegun.open()
                    await isOver.wait()
                },
                exit: {
                    steps.withLock { $0.append("exit") }
                    hasExited.open()
                }),
        ])
        async let running: Void = group.run()
        await group.triggerGracefulShutdown()
        await hasBegun.wait()
        await hasExited.wait()
        #expect(steps.withLock(\.self) == ["ending", "exit"])
        mayEnd.open()
        isOver.open()
        try await running
    }
}
