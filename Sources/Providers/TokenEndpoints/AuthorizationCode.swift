package import Accounts

/// A code as the app posted it, and the client that it belongs to.
package struct AuthorizationCode: Sendable {
    package let text: String
    /// The client of the code: at Google always the server client, whichever app requested the code.
    package let clientID: ProviderClientID
    /// The redirect URI of the authorization request of a browser. A native app's request had none, and then none may be
    /// sent.
    package let redirectURI: String?
    /// The verifier of the request's challenge (RFC 7636 §4.1), for Google alone: Apple documents none.
    package let verifier: String?

    package init(text: String, clientID: ProviderClientID, redirectURI: String? = nil, verifier: String? = nil) {
        self.text = text
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.verifier = verifier
    }
}

/// The result of exchanging a code.
package struct ExchangedCode: Sendable {
    /// Verified like any posted token.
    package let identity: VerifiedIdentity
    /// 1 to 4096 bytes of printable ASCII. Google gives one only for the first code of a person and client.
    package let refreshToken: ProviderRefreshToken?
}
