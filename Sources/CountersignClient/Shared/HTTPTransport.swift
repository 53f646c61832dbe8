public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends one request. It follows no redirect (a 3xx is the answer), keeps no cookies and repeats nothing.
///
/// The errors may be of any type: `CancellationError` and errors of ours reach the caller as they are, all others as
/// `SessionError.transient`.
public protocol HTTPTransport: Sendable {
    /// The answer with its whole body, whatever its status.
    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse)
}

/// An answer, read whole.
struct HTTPAnswer: Sendable {
    let status: Int
    let body: Data
    /// The seconds of `Retry-After`; nil when it is missing or a date.
    let retryAfter: Int?

    init(_ body: Data, _ response: HTTPURLResponse) {
        status = response.statusCode
        self.body = body
        retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 }
    }
}

extension HTTPTransport {
    /// Sends, and ends at once when the caller's task is cancelled, whatever the transport does about it.
    func exchange(_ request: URLRequest) async throws(SessionError) -> (Data, HTTPURLResponse) {
        guard !Task.isCancelled else { throw .cancelled }
        let sending = Task { () -> Result<(Data, HTTPURLResponse), SessionError> in
            do { return .success(try await send(request)) } catch { return .failure(SessionError(sending: error)) }
        }
        return try await outcome(of: sending) { sending.cancel() }
    }
}
