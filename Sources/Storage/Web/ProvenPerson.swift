package import Accounts

/// The person whom a browser has proven, until the app exchanges its code: only then an account is decided on.
package enum ProvenPerson: Sendable {
    /// - Parameter displayName: what the provider gave at first consent; unsigned user input.
    case identity(VerifiedIdentity, grant: NewGrant?, displayName: DisplayName?)
    /// The account that a password proved, and the hash that it matched.
    case password(AccountID, passwordHash: PasswordHash, at: Timestamp)
    /// A code that was right, and is spent with the exchange.
    case emailCode(EmailCode, at: Timestamp)
}

/// What the browser of a flow was sent to a provider with, and is expected back with.
package struct WebFlowSecrets: Codable, Sendable {
    /// The raw nonce.
    package let nonce: String
    /// The verifier of our own challenge (RFC 7636); `nil` at a provider that takes none.
    package let verifier: String?
    private let replacedIdentity: String?

    /// - Parameter replaced: the identity that the person, who has seen it, wants to be replaced by that of their ticket.
    package init(nonce: String, verifier: String?, replacing replaced: IdentityID? = nil) {
        self.nonce = nonce
        self.verifier = verifier
        self.replacedIdentity = replaced?.description
    }

    package var replaced: IdentityID? { replacedIdentity.flatMap(IdentityID.init) }
}

/// Apple's answer as it was posted, until the browser comes for it.
package struct HeldAnswer: Codable, Sendable {
    package let code: String?
    package let idToken: String?
    /// JSON text, unsigned.
    package let user: String?
    package let error: String?

    package init(code: String?, idToken: String?, user: String?, error: String?) {
        self.code = code
        self.idToken = idToken
        self.user = user
        self.error = error
    }
}
