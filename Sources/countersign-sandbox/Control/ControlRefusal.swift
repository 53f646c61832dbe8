import HTTPTypes
import Hummingbird

/// A refused control request: a status, a code for programs and a sentence for the developer.
struct ControlRefusal: Error, HTTPResponseError {
    let status: HTTPResponse.Status
    let code: String
    let message: String

    static func invalid(_ message: String) -> ControlRefusal {
        ControlRefusal(status: .badRequest, code: "invalid_request", message: message)
    }

    static func notFound(_ message: String) -> ControlRefusal {
        ControlRefusal(status: .notFound, code: "not_found", message: message)
    }

    static func conflict(_ message: String) -> ControlRefusal {
        ControlRefusal(status: .conflict, code: "conflict", message: message)
    }

    func response(from request: Request, context: some RequestContext) -> Response {
        .json(["error": code, "message": message], status: status)
    }
}
