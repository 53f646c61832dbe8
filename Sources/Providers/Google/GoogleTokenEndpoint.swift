package import Accounts
package import Curl
import JOSE
package import Logging

/// Google's endpoints for server auth codes and refresh tokens.
package struct GoogleTokenEndpoint: TokenEndpoint {
    package struct Configuration: Sendable {
        /// The server client: the one that apps request codes for.
        package var clientID: String
        package var clientSecret: String
        package var tokenURL: String
        package var revokeURL: String

        package init(
            clientID: String, clientSecret: String, tokenURL: String = "https://oauth2.googleapis.com/token",
            revokeURL: String = "https://oauth2.googleapis.com/revoke"
        ) {
            self.clientID = clientID
            self.clientSecret = clientSecret
            self.tokenURL = tokenURL
            self.revokeURL = revokeURL
        }
    }

    private let configuration: Configuration
    private let tokens: FormEndpoint
    private let revocation: FormEndpoint
    private let provider: GoogleProvider
    private let logger: Logger

    package init(
        provider: GoogleProvider, configuration: Configuration, fetcher: any Fetcher, logger: Logger
    ) {
        self.configuration = configuration
        tokens = FormEndpoint(url: configuration.tokenURL, fetcher: fetcher)
        revocation = FormEndpoint(url: configuration.revokeURL, fetcher: fetcher)
        // The authorized party of a token from here is the server client itself, which no app's token has as its party.
        var rules = provider.configuration
        rules.clientIDs = [configuration.clientID]
        if !rules.authorizedParties.isEmpty { rules.authorizedParties.append(configuration.clientID) }
        self.provider = GoogleProvider(configuration: rules, keys: provider.keys)
        var logger = logger
        logger[metadataKey: "provider"] = "\(Provider.google.rawValue)"
        self.logger = logger
    }

    /// The client that every code and refresh token of this endpoint belongs to.
    package var clientID: String { configuration.clientID }

    package func exchange(
        _ code: AuthorizationCode, nonce: NonceExpectation, timeout: Duration, at now: Timestamp
    ) async throws(EndpointRefusal) -> ExchangedCode {
        try requireServerClient(code.clientID)
        // The codes of apps are tied to an empty redirect URI; leaving the field out is a mismatch.
        var fields =
            client + [
                ("grant_type", "authorization_code"), ("code", code.text), ("redirect_uri", code.redirectURI ?? ""),
            ]
        if let verifier = code.verifier { fields.append(("code_verifier", verifier)) }
        let answer = try await tokens.post(fields, timeout: timeout)
            .document(keyID: configuration.clientID, invalidRequestMeans: .code)
        return try await provider.exchanged(
            IssuedTokens(answer, logger: logger), for: code, nonce: nonce, at: now)
    }

    /// Google needs only the token, so one of another client of ours is revoked too. With `invalid_token` it answers that
    /// the token no longer exists: then there is nothing left to do.
    package func revoke(
        _ refreshToken: String, of clientID: String, at now: Timestamp
    ) async throws(EndpointRefusal) {
        let answer = try await revocation.post([("token", refreshToken)])
        if case .refused(.invalidToken) = answer { return }
        try answer.accepted(keyID: configuration.clientID, invalidRequestMeans: .configuration)
    }

    package func check(
        _ refreshToken: String, of clientID: String, at now: Timestamp
    ) async throws(EndpointRefusal) {
        try requireServerClient(clientID)
        let fields = client + [("grant_type", "refresh_token"), ("refresh_token", refreshToken)]
        _ = try await tokens.post(fields).document(keyID: configuration.clientID, invalidRequestMeans: .configuration)
    }

    private var client: [(String, String)] {
        [("client_id", configuration.clientID), ("client_secret", configuration.clientSecret)]
    }

    /// Google would refuse another client's code or token as invalid, which means nothing for the code or token.
    private func requireServerClient(_ clientID: String) throws(EndpointRefusal) {
        guard clientID.utf8.elementsEqual(configuration.clientID.utf8) else { throw .notConfigured }
    }
}
