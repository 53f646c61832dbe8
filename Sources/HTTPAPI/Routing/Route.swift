/// One operation: a method, a path and what answers it.
///
/// The template is a path of literal segments and parameters: `/v1/sessions/{sessionId}`.
package struct Route: Sendable {
    package enum Method: String, CaseIterable, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    package typealias Handler = @Sendable (Request) async throws -> Response

    package let method: Method
    package let template: String
    package let handler: Handler

    package init(_ method: Method, _ template: String, _ handler: @escaping Handler) {
        self.method = method
        self.template = template
        self.handler = handler
    }
}
