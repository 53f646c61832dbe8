import Hummingbird
import Primitives

/// The parameters that a browser carries to a redirect URI.
struct BrowserAnswer: Sendable {
    /// How they get there (OAuth 2.0 Multiple Response Type Encoding Practices §2.1, Form Post Response Mode).
    enum Mode: String, Sendable {
        case query
        case fragment
        case formPost = "form_post"
    }

    let provider: ProviderName
    let redirectURI: String
    let mode: Mode
    private(set) var parameters: [(name: String, value: String)]

    /// - Parameter parameters: those with a value are sent.
    init(
        at provider: ProviderName, to redirectURI: String, as mode: Mode,
        _ parameters: KeyValuePairs<String, String?>
    ) {
        (self.provider, self.redirectURI, self.mode) = (provider, redirectURI, mode)
        self.parameters = parameters.compactMap { name, value in value.map { (name, $0) } }
    }

    mutating func apply(_ alteration: BrowserAlteration) {
        for (name, value) in alteration.parameters {
            if let index = parameters.firstIndex(where: { $0.name == name }) {
                parameters[index].value = value
            } else {
                parameters.append((name, value))
            }
        }
        parameters.removeAll { alteration.withoutParameters.contains($0.name) }
        parameters = parameters.flatMap { alteration.repeatedParameters.contains($0.name) ? [$0, $0] : [$0] }
    }

    /// - Parameter sendsForm: whether a script sends the form, if there is one.
    func response(sendsForm: Bool) -> Response {
        switch mode {
        case .query: redirect(redirectURI + (redirectURI.contains("?") ? "&" : "?") + encoded)
        case .fragment: redirect(redirectURI + "#" + encoded)
        case .formPost: page(sendsForm: sendsForm).response()
        }
    }

    private func redirect(_ location: String) -> Response {
        Response(status: .found, headers: [.location: location, .cacheControl: "no-store"])
    }

    private func page(sendsForm: Bool) -> BrowserPage {
        let inputs = parameters.map { parameter -> HTML in
            "<input type=\"hidden\" name=\"\(parameter.name)\" value=\"\(parameter.value)\">"
        }
        return BrowserPage(
            provider: provider, title: "Back to the client",
            content: """
                <form id="answer" method="post" action="\(redirectURI)">
                \(inputs)
                <button class="main" autofocus>Continue</button>
                </form>
                <p class="small">Posts \(parameters.map(\.name).joined(separator: ", ")) to
                <code>\(redirectURI)</code></p>
                """,
            script: sendsForm ? #"document.getElementById("answer").submit()"# : nil)
    }

    private var encoded: String {
        parameters.map { PercentEncoding.encode($0.name) + "=" + PercentEncoding.encode($0.value) }.joined(
            separator: "&")
    }
}
