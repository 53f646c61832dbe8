import Foundation

/// Verdicts on standard output, in the order of their tokens.
struct VerdictOutput {
    let verification: TokenVerification
    private(set) var sawRejection = false

    init(verification: TokenVerification) {
        self.verification = verification
    }

    /// Shares a batch among the processors and writes its verdicts at once, so that whoever feeds tokens singly gets
    /// answers singly, and whoever feeds many at once waits for no switch between two of them.
    mutating func write(verdictsOn tokens: [[UInt8]]) async throws {
        guard !tokens.isEmpty else { return }
        let share = (tokens.count + Self.width - 1) / Self.width
        let verification = verification
        let parts = await withTaskGroup(of: (start: Int, isValid: Bool, lines: [UInt8]).self) { group in
            for start in stride(from: 0, to: tokens.count, by: share) {
                group.addTask {
                    var isValid = true
                    var lines: [UInt8] = []
                    for token in tokens[start..<min(start + share, tokens.count)] {
                        let verdict = await verification.verdict(on: token)
                        isValid = isValid && verdict.isValid
                        lines += verdict.line
                    }
                    return (start, isValid, lines)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        sawRejection = sawRejection || !parts.allSatisfy(\.isValid)
        let lines = parts.sorted { $0.start < $1.start }.flatMap(\.lines)
        try FileHandle.standardOutput.write(contentsOf: Data(lines))
    }

    private static let width = max(1, ProcessInfo.processInfo.activeProcessorCount)
}
