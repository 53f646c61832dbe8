package import Accounts
package import Curl
package import Logging
package import OpenSSL

/// Apple's endpoints for codes, refresh tokens and transferred apps.
package struct AppleTokenEndpoint: TokenEndpoint {
    package struct Configuration: Sendable {
        /// A developer team, and the key that authenticates its clients.
        package struct Team: Sendable {
            package var realm: Realm
            package var teamID: String
            package var keyID: String
            package var privateKey: P256PrivateKey
            package var clientIDs: [ProviderClientID]

            package init(
                realm: Realm = .main, teamID: String, keyID: String, privateKey: P256PrivateKey,
                clientIDs: [ProviderClientID]
            ) {
                self.realm = realm
                self.teamID = teamID
                self.keyID = keyID
                self.privateKey = privateKey
                self.clientIDs = clientIDs
            }
        }

        /// The teams that have a key; a client ID belongs to one of them.
        package var teams: [Team]
        package var tokenURL: String
        package var revokeURL: String
        package var userMigrationURL: String

        package init(
            teams: [Team], tokenURL: String = "https://appleid.apple.com/auth/token",
            revokeURL: String = "https://appleid.apple.com/auth/revoke",
            userMigrationURL: String = "https://appleid.apple.com/auth/usermigrationinfo"
        ) {
            self.teams = teams
            self.tokenURL = tokenURL
            self.revokeURL = revokeURL
            self.userMigrationURL = userMigrationURL
        }
    }

    let tokens: FormEndpoint
    let userMigration: FormEndpoint
    private let revocation: FormEndpoint
    private let provider: AppleProvider
    private let signers: [TeamSigner]
    private let logger: Logger

    package init(provider: AppleProvider, configuration: Configuration, fetcher: any Fetcher, logger: Logger) {
        self.provider = provider
        tokens = FormEndpoint(url: configuration.tokenURL, fetcher: fetcher)
        revocation = FormEndpoint(url: configuration.revokeURL, fetcher: fetcher)
        userMigration = FormEndpoint(url: configuration.userMigrationURL, fetcher: fetcher)
        signers = configuration.teams.map { TeamSigner(team: $0, secrets: AppleClientSecrets(team: $0)) }
        var logger = logger
        logger[metadataKey: "provider"] = "\(Provider.apple.rawValue)"
        self.logger = logger
    }

    // MARK: Codes and refresh tokens

    package func exchange(
        _ code: AuthorizationCode, nonce: NonceExpectation, timeout: Duration, at now: Timestamp
    ) async throws(EndpointRefusal) -> ExchangedCode {
        let client = try client(code.clientID, at: now)
        var fields = client.fields + [("grant_type", "authorization_code"), ("code", code.text)]
        if let redirectURI = code.redirectURI { fields.append(("redirect_uri", redirectURI)) }
        let answer = try await tokens.post(fields, timeout: timeout)
            .document(keyID: client.keyID, invalidRequestMeans: .code)
        return try await provider.exchanged(IssuedTokens(answer, logger: logger), for: code, nonce: nonce, at: now)
    }

    /// Apple answers 200 also to a token that was revoked before, or never was one.
    package func revoke(
        _ refreshToken: ProviderRefreshToken, of clientID: ProviderClientID, at now: Timestamp
    ) async throws(EndpointRefusal) {
        let client = try client(clientID, at: now)
        let fields = client.fields + [("token", refreshToken.text), ("token_type_hint", "refresh_token")]
        try await revocation.post(fields).accepted(keyID: client.keyID, invalidRequestMeans: .configuration)
    }

    /// Apple asks for at most one check a day for each token. The content of a success is not used: the refresh token stays
    /// the same.
    package func check(
        _ refreshToken: ProviderRefreshToken, of clientID: ProviderClientID, at now: Timestamp
    ) async throws(EndpointRefusal) {
        let client = try client(clientID, at: now)
        let fields = client.fields + [("grant_type", "refresh_token"), ("refresh_token", refreshToken.text)]
        _ = try await tokens.post(fields).document(keyID: client.keyID, invalidRequestMeans: .content)
    }

    // MARK: Client secrets

    /// A secret for requests as this client; good for at least a quarter of an hour.
    package func clientSecret(for clientID: ProviderClientID, at now: Timestamp) throws(EndpointRefusal) -> String {
        try signer(of: clientID).secrets.secret(for: clientID, at: now)
    }

    /// Seconds since the oldest secret in use of each team was made; `nil` where there is none.
    package func clientSecretAges(at now: Timestamp) -> [(realm: Realm, age: Int64?)] {
        signers.map { ($0.team.realm, $0.secrets.age(at: now)) }
    }

    /// The realm of the identities of the client's team; `nil` when no team with a key has this client.
    package func realm(of clientID: ProviderClientID) -> Realm? { (try? signer(of: clientID))?.team.realm }

    /// The Team ID of the realm's team; `nil` when it has no key.
    package func teamID(of realm: Realm) -> String? { signers.first { $0.team.realm == realm }?.team.teamID }

    private struct TeamSigner: Sendable {
        let team: Configuration.Team
        let secrets: AppleClientSecrets
    }

    /// One of our clients, with the fields by which a request names and authenticates it.
    struct Client {
        let keyID: String
        let fields: [(String, String)]
    }

    func client(_ clientID: ProviderClientID, at now: Timestamp) throws(EndpointRefusal) -> Client {
        let secret = try clientSecret(for: clientID, at: now)
        return Client(
            keyID: try signer(of: clientID).team.keyID,
            fields: [("client_id", clientID.text), ("client_secret", secret)])
    }

    private func signer(of clientID: ProviderClientID) throws(EndpointRefusal) -> TeamSigner {
        guard let signer = signers.first(where: { $0.team.clientIDs.contains(clientID) }) else { throw .notConfigured }
        return signer
    }
}
