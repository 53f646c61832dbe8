import Foundation
import TestSupport

/// Requests that two readers may see the ends of in different places, each with another request hidden behind the end that
/// one of them sees. The client asks for the connection to be closed, so whatever reads it, there is one request in each.
struct SmugglingForm: Decodable, Sendable {
    let name: String
    /// With `{post}` or `{get}` for its beginning, `{outer}` for its field with an id, `{hidden}` for the other request,
    /// `{length}` for the length of all that follows the first empty line, and `{size}` for that of the hidden request,
    /// in hexadecimal digits.
    private let request: String

    static var all: [SmugglingForm] { get throws { try Fixtures.file("smuggling.json").decoded() } }

    /// - Parameter number: of the form, by which the log shows which of the two requests was read.
    func text(_ number: Int) -> String {
        let hidden = "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\nX-Request-Id: hidden-\(number)\r\n\r\n"
        var text = request.replacing(
            "{post}",
            with: """
                POST /v1/links/cancel HTTP/1.1\r\nHost: a\r\n{outer}\r\nContent-Type: application/json\r
                Connection: close\r\n
                """)
        text.replace(
            "{get}", with: "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\n{outer}\r\nConnection: close\r\n")
        text.replace("{outer}", with: "X-Request-Id: outer-\(number)")
        text.replace("{size}", with: String(hidden.utf8.count, radix: 16))
        text.replace("{hidden}", with: hidden)
        let body = text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n")
        text.replace("{length}", with: "\(body.utf8.count)")
        return text
    }
}
