import Foundation
import Testing

/// The operations of openapi.yaml, read line by line: paths are indented by two spaces, methods by four.
struct APIDocument {
    struct Operation: CustomStringConvertible {
        let method: String
        /// `/admin/v1/accounts/{accountId}`
        let template: String
        /// `x-scope`
        var scope: String?
        /// The names of the credentials, of which one is enough; empty for an operation that needs none.
        var credentials: Set<String> = []
        /// Whether `security` also allows a request without a credential.
        var isOpen = false
        var hasBody = false
        /// Those that it lists.
        var statuses: Set<Int> = []
        /// The names of shared parameters, such as `Limit` and `AccountID`.
        var parameters: Set<String> = []

        var description: String { "\(method) \(template)" }

        /// Whether it is a page for browsers.
        var isPage: Bool {
            template.hasPrefix("/web/") || ["/oauth/authorize", "/oauth/other-account", "/app-flip"].contains(template)
        }

        /// Whether it is on the private listener.
        var isPrivate: Bool { template.wholeMatch(of: /\/(admin|health|metrics).*/) != nil }

        /// The path with this in place of its parameter.
        func path(_ id: String) -> String { template.replacing(/\{\w+\}/, with: id) }
    }

    let operations: [Operation]

    static func read() throws -> APIDocument { try document.get() }

    private static let document = Result { try parsed() }

    private static func parsed() throws -> APIDocument {
        let file = URL(filePath: #filePath).appending(path: "../../../openapi.yaml").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let paths = try #require(text.firstMatch(of: /\npaths:\n(?s:(.*?))\ncomponents:\n/)).1
        var operations: [Operation] = []
        var template = ""
        for line in paths.split(separator: "\n") {
            if let match = line.wholeMatch(of: #/  (/.*):/#) {
                template = String(match.1)
            } else if let match = line.wholeMatch(of: #/    (get|post|put|patch|delete):/#) {
                operations.append(Operation(method: match.1.uppercased(), template: template))
            } else if let last = operations.indices.last {
                if let match = line.wholeMatch(of: #/      x-scope: (\w+)/#) {
                    operations[last].scope = String(match.1)
                }
                if let match = line.wholeMatch(of: #/        - (\w+): \[\]/#) {
                    operations[last].credentials.insert(String(match.1))
                }
                if ["      security: []", "        - {}"].contains(line) { operations[last].isOpen = true }
                if line == "      requestBody:" { operations[last].hasBody = true }
                if let match = line.wholeMatch(of: #/        '(\d+)':/#), let status = Int(match.1) {
                    operations[last].statuses.insert(status)
                }
                if let match = line.firstMatch(of: /#\/components\/parameters\/(\w+)'/) {
                    operations[last].parameters.insert(String(match.1))
                }
            }
        }
        return APIDocument(operations: operations)
    }

    /// The operations of the admin API.
    var administration: [Operation] { operations.filter { $0.template.hasPrefix("/admin/") } }
}
