import Foundation
import TestSupport
import Testing

/// Runs of the built `countersign`.
enum CountersignProcess {
    static var executable: URL { get throws { try FinishedProcess.product("countersign") } }

    /// Runs it with nothing of the test's own environment.
    ///
    /// - Parameter directory: where it is started from; where the test was, if nil.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String = "", directory: String? = nil
    ) async throws -> FinishedProcess {
        try await FinishedProcess.run(
            executable, arguments, environment: environment, input: Data(input.utf8), directory: directory)
    }
}

extension FinishedProcess {
    /// The same process, which has to have ended with this status.
    @discardableResult
    func ended(_ code: Int32 = 0, _ location: SourceLocation = #_sourceLocation) -> FinishedProcess {
        #expect(self.code == code, "\(output)\(errors)", sourceLocation: location)
        return self
    }
}
