/// The status codes that this service answers with (RFC 9110 §15).
package enum Status: Int, CaseIterable, Sendable {
    case ok = 200
    case created = 201
    case accepted = 202
    case noContent = 204
    case seeOther = 303
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case methodNotAllowed = 405
    case conflict = 409
    case gone = 410
    case contentTooLarge = 413
    case unsupportedMediaType = 415
    case tooManyRequests = 429
    case internalServerError = 500
    case serviceUnavailable = 503

    var reasonPhrase: String {
        switch self {
        case .ok: "OK"
        case .created: "Created"
        case .accepted: "Accepted"
        case .noContent: "No Content"
        case .seeOther: "See Other"
        case .badRequest: "Bad Request"
        case .unauthorized: "Unauthorized"
        case .forbidden: "Forbidden"
        case .notFound: "Not Found"
        case .methodNotAllowed: "Method Not Allowed"
        case .conflict: "Conflict"
        case .gone: "Gone"
        case .contentTooLarge: "Content Too Large"
        case .unsupportedMediaType: "Unsupported Media Type"
        case .tooManyRequests: "Too Many Requests"
        case .internalServerError: "Internal Server Error"
        case .serviceUnavailable: "Service Unavailable"
        }
    }

    /// Whether RFC 9110 forbids a body, and with it `Content-Length` (§8.6).
    var forbidsBody: Bool { self == .noContent }
}
