/// What was expected and did not happen.
struct Mismatch: Error {
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}

/// Prints the steps and counts the checks.
final class Report {
    private(set) var checks = 0
    private var steps = 0

    func step(_ title: String) {
        steps += 1
        print("\n== \(steps). \(title)")
    }

    func skip(_ sentence: String) {
        print("\n-- left out: \(sentence)")
    }

    func expect(_ condition: Bool, _ sentence: String) throws(Mismatch) {
        guard condition else { throw Mismatch(sentence) }
        checks += 1
        print("   \(sentence)")
    }

    func expect<Value: Equatable>(_ value: Value, _ expected: Value, _ sentence: String) throws(Mismatch) {
        guard value == expected else { throw Mismatch("\(sentence): \(value), not \(expected)") }
        try expect(true, sentence)
    }

    /// The closure has to throw this.
    func expect<Failure: Error & Equatable>(
        _ failure: Failure, _ sentence: String, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> Void
    ) async throws(Mismatch) {
        do throws(Failure) {
            try await body()
        } catch {
            guard error == failure else { throw Mismatch("\(sentence): \(error), not \(failure)") }
            return try expect(true, sentence)
        }
        throw Mismatch("\(sentence): nothing was thrown, not \(failure)")
    }
}
