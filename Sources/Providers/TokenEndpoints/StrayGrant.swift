package import Accounts

/// An authorization that an exchange began and no sign-in uses, because what came with it was refused.
package struct StrayGrant: Equatable, Sendable {
    /// The person who gave it, by an ID token that the provider signed for the code's client.
    package let owner: IdentityKey
    /// Of the code's client.
    package let refreshToken: ProviderRefreshToken

    package init(owner: IdentityKey, refreshToken: ProviderRefreshToken) {
        self.owner = owner
        self.refreshToken = refreshToken
    }
}
