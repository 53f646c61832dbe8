package import Accounts

/// A code as the phone posted it, and the client that it belongs to.
package struct AuthorizationCode: Sendable {
    package let text: String
    /// At Google always the server client, whichever app asked for the code.
    package let clientID: String
    /// The one of the authorization request, for web and Android at Apple. A native app's request had none, and then
    /// none may be sent; Google's codes come without.
    package let redirectURI: String?

    package init(text: String, clientID: String, redirectURI: String? = nil) {
        self.text = text
        self.clientID = clientID
        self.redirectURI = redirectURI
    }
}

/// What a code stood for.
package struct ExchangedCode: Sendable {
    /// Verified like any posted token.
    package let identity: VerifiedIdentity
    /// 1 to 4096 bytes of printable ASCII. Google gives one for the first code of a person and client alone.
    package let refreshToken: String?

    package init(identity: VerifiedIdentity, refreshToken: String?) {
        self.identity = identity
        self.refreshToken = refreshToken
    }
}
