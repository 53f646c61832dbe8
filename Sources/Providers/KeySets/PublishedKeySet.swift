package import Curl
package import JOSE

/// A provider's key set as it was fetched, and its lifetime.
package struct PublishedKeySet: Sendable {
    package let keys: KeySet
    /// Seconds.
    package let lifetime: Int64

    package var usableCount: Int { keys.count }
    package var rejected: [RejectedKey.Reason] { keys.rejected.map(\.reason) }

    static func request(_ url: String) -> FetchRequest {
        FetchRequest(
            url: url, headers: [("Accept", "application/json")], timeout: .seconds(5), connectTimeout: .seconds(3),
            maximumBodyBytes: KeySet.maximumBytes)
    }

    /// Fetches the set now, past our own cache.
    package init(at url: String, fetcher: any Fetcher) async throws(KeySetFetchFailure) {
        try await self.init(Self.request(url), fetcher: fetcher)
    }

    init(_ request: FetchRequest, fetcher: any Fetcher) async throws(KeySetFetchFailure) {
        let response: FetchResponse
        do {
            response = try await fetcher.fetch(request)
        } catch {
            throw .request(error.code)
        }
        guard response.status == 200 else { throw .status(response.status) }
        do {
            keys = try KeySet(parsing: response.body)
        } catch {
            throw .document(error)
        }
        lifetime = KeySetLifetime.stated(in: response.headers)
    }
}
