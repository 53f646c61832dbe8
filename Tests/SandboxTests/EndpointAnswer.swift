import Curl
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// The response of one of the providers' endpoints, and the reason that the history has for it.
struct EndpointAnswer {
    let status: Int
    let headers: FetchHeaders
    let body: [UInt8]
    /// nil when the body is not JSON.
    let json: JSONValue?
    let reason: String?

    var error: String? { json?["error"]?.string }

    func text(_ name: String) throws -> String { try #require(json?[name]?.string) }

    /// One line for a comparison that shows everything when it fails: status, error and reason.
    var refusal: String { "\(status) \(error ?? "-") \(reason ?? "-")" }
}

extension Sandbox {
    /// POSTs a form to the provider side.
    func post(
        _ path: String, _ fields: [(String, String)], headers: [(name: String, value: String)] = []
    ) async throws -> EndpointAnswer {
        var request = FetchRequest.form(url: url + path, fields: fields)
        request.headers += headers
        return try await post(request)
    }

    /// POSTs anything. A header of its own identifies the request in the history of a shared sandbox.
    func post(_ request: FetchRequest) async throws -> EndpointAnswer {
        var request = request.uncontended
        let mark = UUID().uuidString
        request.headers.append(("X-Mark", mark))
        let before = latest.withLock(\.self)
        let response = try await fetcher.fetch(request)
        let path = request.url.dropFirst(url.count).prefix { $0 != "?" }
        let entry = try await history(path: String(path), after: before).first { $0.header("X-Mark") == mark }
        return EndpointAnswer(
            status: response.status, headers: response.headers, body: response.body,
            json: try? JSONValue(parsing: response.body), reason: try #require(entry).reason)
    }
}
