import Primitives
import Testing

/// A trait that runs three of its suites at a time: each starts processes of its own, and more at once would only delay
/// each other's answers.
struct LimitedConcurrency: SuiteTrait, TestScoping {
    private static let semaphore = Semaphore(3)

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Self.semaphore.wait()
        try await closing({ await Self.semaphore.signal() }, after: function)
    }
}

extension Trait where Self == LimitedConcurrency {
    static var limitedConcurrency: LimitedConcurrency { LimitedConcurrency() }
}

private actor Semaphore {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    func wait() async {
        if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }

    /// Resumes the longest waiting caller, if any.
    func signal() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
