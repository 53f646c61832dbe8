package import Accounts

/// A code as the app posted it, and the client that it belongs to.
package struct AuthorizationCode: Sendable {
    package let text: String
    /// The client of the code: at Google always the server client, whichever app requested the code.
    package let clientID: String
    /// The redirect URI of the authorization request, for web and Android at Apple. A native app's request had none, and
    /// then none may be sent; Google's codes have none.
    package let redirectURI: String?

    package init(text: String, clientID: String, redirectURI: String? = nil) {
        self.text = text
        self.clientID = clientID
        self.redirectURI = redirectURI
    }
}

/// The result of exchanging a code.
package struct ExchangedCode: Sendable {
    /// Verified like any posted token.
    package let identity: VerifiedIdentity
    /// 1 to 4096 bytes of printable ASCII. Google gives one only for the first code of a person and client.
    package let refreshToken: String?

    package init(identity: VerifiedIdentity, refreshToken: String?) {
        self.identity = identity
        self.refreshToken = refreshToken
    }
}
