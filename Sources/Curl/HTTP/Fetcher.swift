/// What sends requests out of this process. The service has one; tests put their own in its place.
package protocol Fetcher: Sendable {
    /// Cancelling the task ends the request. Throws for every outcome without a complete response; a response with
    /// an error status is a response.
    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse
}
