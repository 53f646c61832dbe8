import Accounts
package import Providers

/// Where the providers take codes and refresh tokens; absent for one that verifies identity tokens alone.
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
