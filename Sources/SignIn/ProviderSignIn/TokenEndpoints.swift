import Accounts
package import Providers

/// The providers' endpoints for codes and refresh tokens; `nil` for a provider whose identity tokens alone are used.
package struct TokenEndpoints: Sendable {
    package let apple: AppleTokenEndpoint?
    package let google: GoogleTokenEndpoint?

    package init(apple: AppleTokenEndpoint?, google: GoogleTokenEndpoint?) {
        self.apple = apple
        self.google = google
    }

    package static let none = TokenEndpoints(apple: nil, google: nil)

    subscript(provider: Provider) -> (any TokenEndpoint)? {
        switch provider {
        case .apple: apple
        case .google: google
        }
    }
}
