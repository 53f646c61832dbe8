import TestSupport
import Testing

/// Command lines that can't be meant: they are refused before anything is done.
@Suite struct UsageErrorTests {
    /// A line, and how the sentence about it begins. Behind a space at its end is an empty word.
    private static let refused = Result { try DataFile("Fixtures/usage.json").decoded(as: [String: String].self) }

    @Test(arguments: try refused.get())
    func `a command line that can't be meant is refused in one sentence`(_ line: String, _ sentence: String) throws {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let refusal = try #require(CountersignProcess.refusal(of: words))
        #expect(refusal.code == 2)
        #expect(refusal.message.hasPrefix("countersign: \(sentence)"), "\(refusal.message)")
        #expect(refusal.message.split(separator: "\n").count == 1, "\(refusal.message)")
    }
}
