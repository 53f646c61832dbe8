import HTTPTypes
import Hummingbird
import NIOCore

/// Middleware that records each request to the provider side, answered or not, known path or not.
struct HistoryMiddleware: RouterMiddleware {
    let history: RequestHistory

    /// The largest request in bytes, more than any provider takes; a larger one is refused and not recorded.
    static let maximumBytes = 1 << 20

    func handle(
        _ request: Request, context: SandboxContext,
        next: (Request, SandboxContext) async throws -> Response
    ) async throws -> Response {
        let path = request.uri.path
        guard path != "/control", !path.hasPrefix("/control/") else { return try await next(request, context) }
        var request = request
        let body: [UInt8]
        do {
            body = Array(try await request.collectBody(upTo: Self.maximumBytes).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw HTTPError(.contentTooLarge)
        }
        let entry = history.begin(
            method: request.method.rawValue, path: path,
            query: Self.redacted(FormFields(Array((request.uri.query ?? "").utf8))?.fields ?? []),
            headers: request.headers.map { field in
                (field.name.canonicalName, Redaction.header(field.name.canonicalName, field.value))
            },
            body: Self.body(body, type: request.headers[.contentType]))
        var context = context
        context.historyEntry = entry
        let response = try await next(request, context)
        history.finish(entry, status: response.status.code)
        return response
    }

    private static func body(_ octets: [UInt8], type: String?) -> RequestHistory.Entry.Body {
        if octets.isEmpty { return .none }
        if type?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true, let form = FormFields(octets) {
            return .form(redacted(form.fields))
        }
        return .other(bytes: octets.count, fingerprint: Redaction.fingerprint(octets))
    }

    private static func redacted(_ fields: [(name: String, value: String)]) -> [(name: String, value: String)] {
        fields.map { ($0.name, Redaction.field($0.name, $0.value)) }
    }
}
