import Accounts
import Curl
import TestSupport

@testable import countersign

extension Doctor {
    /// Runs the closure with the doctor of a service whose configuration is in these variables.
    static func with<Result>(
        _ environment: [String: String], clock: any WallClock = SystemClock(), timeout: Duration = .seconds(60),
        testsWebhooks: Bool = false, _ body: (Doctor) async throws -> Result
    ) async throws -> Result {
        let sources = try ConfigurationSources(path: nil, environment: environment)
        return try await withFetcher { fetcher in
            try await body(
                Doctor(
                    reading: try ConfigurationReading(of: sources, ServiceConfiguration.init), fetcher: fetcher,
                    clock: clock, timeout: timeout, testsWebhooks: testsWebhooks))
        }
    }
}
