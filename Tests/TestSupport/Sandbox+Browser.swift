import Curl
import Foundation
import JSON

extension Sandbox {
    /// What an authorization page answered to a browser.
    package struct BrowserAnswer: Sendable {
        package let status: Int
        /// The redirect URI without its query and fragment; nil for a page that keeps the browser.
        package let target: String?
        /// Whether the browser is to post the parameters, as Apple's `form_post`.
        package let isForm: Bool
        /// The parameters on their way to the redirect URI, its own ones included.
        package let parameters: [(name: String, value: String)]
        /// The text of the page; empty for a redirect.
        package let page: String

        /// The first value of a parameter.
        package subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
    }

    /// Registers a client with which a browser may come: a Services ID, or a web client of Google's. A client of
    /// Google's needs a secret unless it has one.
    package func registerWebClient(
        _ provider: Provider, _ clientID: String, redirectURIs: [String], secret: String? = nil
    ) async throws {
        try await control("\(provider.rawValue)/clients") { writer in
            writer.member("clientId", clientID)
            writer.member("redirectUris", redirectURIs)
            writer.member("clientSecret", secret)
        }
    }

    /// The next authorization that a browser asks for is answered without a page, `times` times: the person consents,
    /// or cancels.
    package func answerNext(
        _ provider: Provider, person: String? = nil, cancel: Bool = false, clientID: String? = nil,
        hideEmail: Bool? = nil, givenName: String? = nil, times: Int64 = 1
    ) async throws {
        try await control("\(provider.rawValue)/auto") { writer in
            writer.member("person", person)
            writer.member("action", cancel ? "cancel" : "continue")
            writer.member("clientId", clientID)
            if let hideEmail { writer.member("hideEmail", hideEmail) }
            writer.member("givenName", givenName)
            writer.member("times", times)
        }
    }

    /// Changes the answer to the next browser.
    ///
    /// - Parameters:
    ///   - token: the differences of the ID token that Apple's answer has; Google's has none.
    ///   - exchange: the differences of the answer to the code.
    ///   - parameters: JSON text of an object: parameters to set, to strings.
    package func alterNext(
        _ provider: Provider, token: TokenChanges? = nil, exchange: ExchangeChanges? = nil, parameters: String = "{}",
        withoutParameters: [String] = [], repeatedParameters: [String] = []
    ) async throws {
        try await control("faults") { writer in
            writer.member("effect", "altered")
            writer.member("path", provider == .apple ? "/apple/auth/authorize" : "/google/o/oauth2/v2/auth")
            writer.member("times", 1)
            if let token { try token.write(&writer) }
            if let exchange { try exchange.write(&writer) }
            writer.member("parameters", try JSONValue(parsing: Array(parameters.utf8)))
            writer.member("withoutParameters", withoutParameters)
            writer.member("repeatedParameters", repeatedParameters)
        }
    }

    /// Posts the form of an authorization page, as a browser does when the person clicks.
    ///
    /// - Parameters:
    ///   - url: the whole URL of the page, to which a service redirects.
    ///   - action: `continue`, `cancel`, or nil to get the page on which the chosen person consents.
    ///   - fields: further fields of the form.
    package func authorize(
        at url: String, person: String? = nil, action: String? = "continue", fields: [(String, String)] = []
    ) async throws -> BrowserAnswer {
        var form = fields
        if let person { form.append(("person", person)) }
        if let action { form.append(("action", action)) }
        return try await browse(FetchRequest.form(url: url, fields: form))
    }

    /// Gets an authorization page: the list of persons, or the answer if one waits (`answerNext`).
    package func openPage(at url: String, userAgent: String? = nil) async throws -> BrowserAnswer {
        try await browse(FetchRequest(url: url, headers: userAgent.map { [("User-Agent", $0)] } ?? []))
    }

    private func browse(_ request: FetchRequest) async throws -> BrowserAnswer {
        var request = request
        request.maximumBodyBytes = 1 << 20
        let response = try await fetcher.fetch(request.uncontended)
        if let location = response.headers.first("Location") {
            let start = location.firstIndex { $0 == "?" || $0 == "#" } ?? location.endIndex
            return BrowserAnswer(
                status: response.status, target: String(location[..<start]), isForm: false,
                parameters: Self.parameters(location[start...]), page: "")
        }
        let page = String(decoding: response.body, as: UTF8.self)
        guard let form = page.firstMatch(of: /<form id="answer" method="post" action="([^"]*)">/) else {
            return BrowserAnswer(status: response.status, target: nil, isForm: false, parameters: [], page: page)
        }
        let inputs = page.matches(of: /<input type="hidden" name="([^"]*)" value="([^"]*)">/)
        return BrowserAnswer(
            status: response.status, target: Self.unescaped(form.1), isForm: true,
            parameters: inputs.map { (Self.unescaped($0.1), Self.unescaped($0.2)) }, page: page)
    }

    private static func parameters(_ text: Substring) -> [(name: String, value: String)] {
        text.split { "?#&".contains($0) }.map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { $0.removingPercentEncoding ?? String($0) }
            return (decoded[0], decoded.count > 1 ? decoded[1] : "")
        }
    }

    private static func unescaped(_ text: Substring) -> String {
        text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#39;", with: "'").replacing("&amp;", with: "&").description
    }
}
