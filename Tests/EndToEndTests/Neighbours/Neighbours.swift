import Foundation
import TestSupport

/// Tests with programs of others beside the service, such as proxies and connection poolers. `Scripts/test-neighbours` runs
/// them; `Scripts/test` leaves them out.
enum Neighbours {
    /// Whether a program is there, and may do this.
    static func succeeds(_ program: String, _ words: String...) async -> Bool {
        (try? await FinishedProcess.run(URL(filePath: program), words).code) == 0
    }
}
