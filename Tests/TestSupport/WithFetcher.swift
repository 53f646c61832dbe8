package import Curl
import Primitives

/// Runs `body` with a fetcher that is shut down at the end.
@discardableResult
package func withFetcher<Result>(
    _ adjust: (inout CurlFetcher.Configuration) -> Void = { _ in }, _ body: (CurlFetcher) async throws -> Result
) async throws -> Result {
    var configuration = CurlFetcher.Configuration()
    adjust(&configuration)
    let fetcher = try CurlFetcher(configuration: configuration)
    return try await closing(fetcher.shutdown) { try await body(fetcher) }
}
