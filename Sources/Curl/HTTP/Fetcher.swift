/// A client for requests out of this process. The service has one; tests substitute their own.
package protocol Fetcher: Sendable {
    /// Cancelling the task ends the request. Throws for every outcome without a complete response; a response with
    /// an error status is a response.
    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse
}
