import HTTPTypes
import Hummingbird

/// The providers whose pages a browser sees.
enum BrowserProvider: String, Sendable {
    case apple = "Apple"
    case google = "Google"

    /// The path of the authorization page.
    var path: String {
        switch self {
        case .apple: "/apple/auth/authorize"
        case .google: "/google/o/oauth2/v2/auth"
        }
    }
}

/// An authorization request that the provider answers with a page of its own, so that nothing reaches the redirect URI.
struct BrowserRefusal: ProviderRefusal {
    enum Code: String, Sendable {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidScope = "invalid_scope"
        case unsupportedResponseType = "unsupported_response_type"
        // Google's alone.
        case deletedClient = "deleted_client"
        case redirectURIMismatch = "redirect_uri_mismatch"
        case orgInternal = "org_internal"
        case disallowedUserAgent = "disallowed_useragent"
    }

    let provider: BrowserProvider
    let code: Code
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
    init(_ provider: BrowserProvider, _ fault: BrowserQuery.Fault) {
        let reason =
            switch fault {
            case .encoding: "The query is not percent-encoded UTF-8."
            case .plus(let name): "\(name) has a + in it: a space is %20 here, and a plus sign %2B."
            case .repeated(let name): "\(name) is there twice."
            case .unknown(let name): "Parameter not allowed: \(name)."
            }
        self.init(provider: provider, code: .invalidRequest, reason: reason)
    }

    init(_ provider: BrowserProvider, _ fault: EndpointForm.Fault) {
        let reason =
            switch fault {
            case .contentType: "The page's form is application/x-www-form-urlencoded."
            case .encoding: "The form is not percent-encoded UTF-8."
            case .repeated(let name): "\(name) is there twice."
            }
        self.init(provider: provider, code: .invalidRequest, reason: reason)
    }
}
