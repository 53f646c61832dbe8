import HTTPTypes
import Hummingbird

/// An authorization request that the provider answers with a page of its own, so that nothing reaches the redirect URI.
struct BrowserRefusal: ProviderRefusal {
    let provider: ProviderName
    let code: OAuthError
    /// A sentence for the developer, on the page and in the history.
    let reason: String

    var status: HTTPResponse.Status {
        switch (provider, code) {
        case (.google, .invalidClient), (.google, .deletedClient): .unauthorized
        case (.google, .orgInternal), (.google, .disallowedUserAgent): .forbidden
        default: .badRequest
        }
    }

    func response(from request: Request, context: some RequestContext) -> Response {
        BrowserPage(
            provider: provider, title: "This request is refused",
            content: """
                <p role="alert">Error <code>\(code.rawValue)</code></p>
                <p>\(reason)</p>
                <p class="small">The browser is not sent back to the client.</p>
                """
        ).response(status)
    }
}

extension BrowserRefusal {
    init(_ provider: ProviderName, _ fault: EndpointForm.Fault) {
        let reason =
            switch fault {
            case .contentType: "The page's form is application/x-www-form-urlencoded."
            case .encoding: "The form is not percent-encoded UTF-8."
            case .repeated(let name): "\(name) is there twice."
            case .missing(let name): "\(name) is missing."
            }
        self.init(provider: provider, code: .invalidRequest, reason: reason)
    }
}
