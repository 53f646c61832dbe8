import Testing

/// A suite that waits for its turn: three at a time, for each has processes of its own, and more of them would only make
/// each other's answers late.
struct Sequentially: SuiteTrait, TestScoping {
    private static let places = Places(3)

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Self.places.take()
        do {
            try await function()
            await Self.places.give()
        } catch {
            await Self.places.give()
            throw error
        }
    }
}

extension Trait where Self == Sequentially {
    static var sequentially: Sequentially { Sequentially() }
}

private actor Places {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    /// To whoever waits longest.
    func give() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
