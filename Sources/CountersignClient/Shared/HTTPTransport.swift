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
    let body: Data
    let response: HTTPURLResponse
    var status: Int { response.statusCode }
    /// The seconds of `Retry-After`; nil when it is missing or a date.
    let retryAfter: Int?
    /// `X-Request-Id`, where it is a name: at most 128 letters, digits, `-`, `.`, `_` and `~`.
    let requestID: String?

    init(_ body: Data, _ response: HTTPURLResponse) {
        self.body = body
        self.response = response
        retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 }
        requestID = response.value(forHTTPHeaderField: "X-Request-Id").flatMap { id in
            let isName = id.utf8.allSatisfy { isAlphanumeric($0) || "-._~".utf8.contains($0) }
            return isName && (1...128).contains(id.utf8.count) ? id : nil
        }
    }
}

extension HTTPTransport {
    /// Sends, and ends at once when the caller's task is cancelled, whatever the transport does about it.
    func exchange(_ request: URLRequest) async throws(SessionError) -> HTTPAnswer {
        guard !Task.isCancelled else { throw .cancelled }
        let sending = Task { () -> Result<HTTPAnswer, SessionError> in
            do {
                let (body, response) = try await send(request)
                return .success(HTTPAnswer(body, response))
            } catch { return .failure(SessionError(sending: error)) }
        }
        return try await outcome(of: sending) { sending.cancel() }
    }
}
