package import HTTPServer
package import SignIn

extension Response {
    /// The document, read from the database as the client takes it.
    package static func streamed(_ export: PersonalDataExport) -> Response {
        .streamed(contentType: "application/json") { body in try await export.write(body.write) }
    }
}
