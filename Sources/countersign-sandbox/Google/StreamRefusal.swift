import HTTPTypes
import Hummingbird

/// An error response of Google's RISC API, in the form of Google's APIs.
struct StreamRefusal: ProviderRefusal {
    let status: HTTPResponse.Status
    let statusName: String
    let message: String
    let reason: String

    static func unauthenticated(_ reason: String) -> StreamRefusal {
        StreamRefusal(
            status: .unauthorized, statusName: "UNAUTHENTICATED",
            message: "Request had invalid authentication credentials.", reason: "bearer: " + reason)
    }

    static func forbidden(_ message: String) -> StreamRefusal {
        StreamRefusal(status: .forbidden, statusName: "PERMISSION_DENIED", message: message, reason: message)
    }

    static func invalid(_ message: String) -> StreamRefusal {
        StreamRefusal(status: .badRequest, statusName: "INVALID_ARGUMENT", message: message, reason: message)
    }

    static let noStream = StreamRefusal(
        status: .notFound, statusName: "NOT_FOUND", message: "The project has no stream.", reason: "no stream")

    func response(from request: Request, context: some RequestContext) -> Response {
        let error: JSONObject = ["code": status.code, "message": message, "status": statusName]
        var response = Response.json(["error": error], status: status)
        if status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }
}
