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

    /// Whether RFC 9110 forbids a body, and with it `Content-Length` (§8.6).
    var forbidsBody: Bool { self == .noContent }
}
