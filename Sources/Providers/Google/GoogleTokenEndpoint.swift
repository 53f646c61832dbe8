package import Accounts
package import Curl
package import Logging

/// Google's endpoints for server auth codes and refresh tokens.
package struct GoogleTokenEndpoint: TokenEndpoint {
    package struct Configuration: Sendable {
        /// A Google project, and its server client: the one that the project's apps request codes for.
        package struct Project: Sendable {
            /// The clients whose tokens name this project; the server client is one of them.
            package var clientIDs: [ProviderClientID]
            package var serverClientID: ProviderClientID
            package var serverClientSecret: String

            package init(clientIDs: [ProviderClientID], serverClientID: ProviderClientID, serverClientSecret: String) {
                self.clientIDs = clientIDs
                self.serverClientID = serverClientID
                self.serverClientSecret = serverClientSecret
            }
        }

        /// The projects that have a server client; a client ID belongs to one of them.
        package var projects: [Project]
        package var tokenURL: String
        package var revokeURL: String

        package init(
            projects: [Project], tokenURL: String = "https://oauth2.googleapis.com/token",
            revokeURL: String = "https://oauth2.googleapis.com/revoke"
        ) {
            self.projects = projects
            self.tokenURL = tokenURL
            self.revokeURL = revokeURL
        }
    }

    /// A project, and the rules for the tokens that its server client gets.
    private struct ServerClient: Sendable {
        let project: Configuration.Project
        let provider: GoogleProvider

        var id: ProviderClientID { project.serverClientID }
        var fields: [(String, String)] { [("client_id", id.text), ("client_secret", project.serverClientSecret)] }
    }

    private let servers: [ServerClient]
    private let tokens: FormEndpoint
    private let revocation: FormEndpoint
    private let logger: Logger

    package init(provider: GoogleProvider, configuration: Configuration, fetcher: any Fetcher, logger: Logger) {
        tokens = FormEndpoint(url: configuration.tokenURL, fetcher: fetcher)
        revocation = FormEndpoint(url: configuration.revokeURL, fetcher: fetcher)
        servers = configuration.projects.map { project in
            // The authorized party of a token from here is the server client itself, which no app's token has as its party.
            var rules = provider.configuration
            rules.clientIDs = [project.serverClientID]
            if !rules.authorizedParties.isEmpty { rules.authorizedParties.append(project.serverClientID) }
            return ServerClient(project: project, provider: GoogleProvider(configuration: rules, keys: provider.keys))
        }
        var logger = logger
        logger[metadataKey: "provider"] = "\(Provider.google.rawValue)"
        self.logger = logger
    }

    /// The server clients, one for each project: every code and refresh token belongs to one of them.
    package var serverClientIDs: [ProviderClientID] { servers.map(\.id) }

    /// The server client of the project that a client belongs to; `nil` when no project with a server client has it.
    package func serverClientID(ofProjectOf clientID: ProviderClientID) -> ProviderClientID? {
        servers.first { $0.project.clientIDs.contains(clientID) }?.id
    }

    package func exchange(
        _ code: AuthorizationCode, nonce: NonceExpectation, timeout: Duration, at now: Timestamp
    ) async throws(EndpointRefusal) -> ExchangedCode {
        let server = try server(code.clientID)
        // The codes of apps are tied to an empty redirect URI; leaving the field out is a mismatch.
        var fields =
            server.fields + [
                ("grant_type", "authorization_code"), ("code", code.text), ("redirect_uri", code.redirectURI ?? ""),
            ]
        if let verifier = code.verifier { fields.append(("code_verifier", verifier)) }
        let answer = try await tokens.post(fields, timeout: timeout)
            .document(keyID: server.id.text, invalidRequestMeans: .code)
        return try await server.provider.exchanged(
            IssuedTokens(answer, logger: logger), for: code, nonce: nonce, at: now)
    }

    /// Google needs only the token, so one of a client that is ours no longer is revoked too. With `invalid_token` it
    /// answers that the token no longer exists: then there is nothing left to do.
    package func revoke(
        _ refreshToken: ProviderRefreshToken, of clientID: ProviderClientID, at now: Timestamp
    ) async throws(EndpointRefusal) {
        let answer = try await revocation.post([("token", refreshToken.text)])
        if case .refused(.invalidToken) = answer { return }
        try answer.accepted(keyID: clientID.text, invalidRequestMeans: .configuration)
    }

    package func check(
        _ refreshToken: ProviderRefreshToken, of clientID: ProviderClientID, at now: Timestamp
    ) async throws(EndpointRefusal) {
        let server = try server(clientID)
        let fields = server.fields + [("grant_type", "refresh_token"), ("refresh_token", refreshToken.text)]
        _ = try await tokens.post(fields).document(keyID: server.id.text, invalidRequestMeans: .configuration)
    }

    /// Google would refuse another client's code or token as invalid, which means nothing for the code or token.
    private func server(_ clientID: ProviderClientID) throws(EndpointRefusal) -> ServerClient {
        guard let server = servers.first(where: { $0.id == clientID }) else {
            throw .notConfigured
        }
        return server
    }
}
