import Foundation

/// The writer of reports to standard output, in the order of their tokens.
struct ReportOutput {
    let verification: TokenVerification
    private(set) var sawRejection = false
    private var output = StandardOutput()

    init(verification: TokenVerification) { self.verification = verification }

    /// Verifies a batch on all processors and writes its reports at once: a caller that sends one token at a time gets
    /// each report at once, and in a large batch no token costs a switch between tasks.
    mutating func write(reportsOn tokens: [[UInt8]]) async throws {
        guard !tokens.isEmpty else { return }
        let share = (tokens.count + Self.width - 1) / Self.width
        let verification = verification
        let parts = await withTaskGroup(of: (start: Int, isValid: Bool, lines: [UInt8]).self) { group in
            for start in stride(from: 0, to: tokens.count, by: share) {
                group.addTask {
                    var isValid = true
                    var lines: [UInt8] = []
                    for token in tokens[start..<min(start + share, tokens.count)] {
                        let report = await verification.report(on: token)
                        isValid = isValid && report.isValid
                        lines += report.line
                    }
                    return (start, isValid, lines)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        sawRejection = sawRejection || !parts.allSatisfy(\.isValid)
        for part in parts.sorted(by: { $0.start < $1.start }) { try output.append(part.lines) }
        try output.flush()
    }

    private static let width = max(1, ProcessInfo.processInfo.activeProcessorCount)
}
