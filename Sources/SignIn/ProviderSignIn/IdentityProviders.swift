import Accounts
import Providers

/// The providers that this deployment offers.
struct IdentityProviders: Sendable {
    let apple: AppleProvider?
    let google: GoogleProvider?

    /// The rules of an offered provider.
    func rules(of provider: Provider) throws(SignInFailure) -> any IdentityProvider {
        let rules: (any IdentityProvider)? =
            switch provider {
            case .apple: apple
            case .google: google
            }
        guard let rules else { throw .providerDisabled }
        return rules
    }
}
