import HTTPTypes
import Hummingbird
import NIOCore

/// The parameters of a POST to one of the endpoints: a form, in which no name comes twice (RFC 6749 §3.2).
struct EndpointForm: Sendable {
    enum Fault: Error {
        case contentType
        /// A broken percent sign, or octets that are not UTF-8.
        case encoding
        case repeated(String)
        /// Not there, or empty.
        case missing(String)
    }

    private let fields: [(name: String, value: String)]
    /// Whether each reserved character was percent-encoded.
    let isFullyEncoded: Bool

    /// - Parameter allowsNone: whether a request without a body may also lack a content type.
    init(_ request: Request, allowsNone: Bool = false) async throws {
        var request = request
        let body = Array(try await request.collectBody(upTo: HistoryMiddleware.maximumBytes).readableBytesView)
        let type = request.headers[.contentType]?.prefix { $0 != ";" }.lowercased()
        let media = type?.filter { $0 != " " && $0 != "\t" }
        guard media == "application/x-www-form-urlencoded" || allowsNone && body.isEmpty else {
            throw Fault.contentType
        }
        guard let form = FormFields(body) else { throw Fault.encoding }
        if let name = form.repeated { throw Fault.repeated(name) }
        fields = form.fields
        isFullyEncoded = form.isFullyEncoded
    }

    subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    func required(_ name: String) throws(Fault) -> String {
        guard let value = self[name], !value.isEmpty else { throw .missing(name) }
        return value
    }

    var names: [String] { fields.map(\.name) }
}
