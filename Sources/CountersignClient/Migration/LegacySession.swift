public import Foundation

/// A session as an older library stored it.
public struct LegacySession: Sendable {
    /// A date in the past where the old library wanted a refresh first, or kept no date.
    public let tokens: OAuthTokens
    public let configuration: OAuthConfiguration
    /// The client that got the grant. A refresh must use it, whatever the app's client is by now.
    public let clientID: String
    public let clientSecret: String?
    public let serviceProvider: String?
    /// As it was stored.
    private let emailVerification: String?
}

extension LegacySession {
    /// Reads what GTMAppAuth, all versions, archived.
    ///
    /// - Throws: `storage` for anything that is no such archive.
    public init(gtmAppAuthArchive archive: Data) throws(SessionError) {
        let session = try KeyedArchive(archive).root(["GTMAppAuthFetcherAuthorization", "GTMAuthSession"])
        guard let state = try session.object("authState", ["OIDAuthState"]) else { throw KeyedArchive.unreadable }
        let authorization = try state.object("lastAuthorizationResponse", ["OIDAuthorizationResponse"])
        let token = try state.object("lastTokenResponse", ["OIDTokenResponse"])
        let authorizationRequest = try authorization?.object("request", ["OIDAuthorizationRequest"])
        let tokenRequest = try token?.object("request", ["OIDTokenRequest"])
        guard let latest = token ?? authorization, let request = authorizationRequest ?? tokenRequest,
            let clientID = try request.text("client_id"),
            let configuration = try request.object("configuration", ["OIDServiceConfiguration"]),
            let authorizationEndpoint = try configuration.url("authorizationEndpoint"),
            let tokenEndpoint = try configuration.url("tokenEndpoint")
        else { throw .storage("the archive names no client or no server") }
        // The first that there is.
        let refreshTokens = [try state.text("refreshToken"), try token?.text("refresh_token")]
        let idTokens = [try token?.text("id_token"), try authorization?.text("id_token")]
        let scopes = [try state.text("scope"), try latest.text("scope"), try request.text("scope")]
        let verification = try session.text("userEmailIsVerified")
        var tokens = OAuthTokens(
            accessToken: try latest.text("access_token"), refreshToken: refreshTokens.compactMap(\.self).first,
            idToken: idTokens.compactMap(\.self).first, scope: scopes.compactMap(\.self).first,
            expiresAt: try latest.date("expires_in"), userID: try session.text("userID"),
            userEmail: try session.text("userEmail"), userEmailIsVerified: verification.map(isTrue) ?? false
        ).labelled()
        // The old library has given up its tokens after any refusal, also one that was not final. The refresh token may
        // live: the server knows.
        let isRefused = try state.has("authorizationError")
        if isRefused {
            tokens.accessToken = nil
            tokens.idToken = nil
        }
        let needsRefresh = try state.bool("needsTokenRefresh")
        if isRefused || needsRefresh { tokens.expiresAt = Self.past }
        self.init(
            tokens: tokens,
            configuration: OAuthConfiguration(
                authorizationEndpoint: authorizationEndpoint, tokenEndpoint: tokenEndpoint,
                issuer: try configuration.url("issuer")),
            clientID: clientID, clientSecret: try request.text("client_secret"),
            serviceProvider: try session.text("serviceProvider"), emailVerification: verification)
    }

    /// Reads what GTMOAuth2, or GTMAppAuth in its format, stored. The text keeps no date, so a refresh comes first; no
    /// server and no client either, so those of the app that stored it have to be given.
    ///
    /// - Parameter redirectURI: the client's, a URL.
    /// - Throws: `storage` for a text without a token, and for a `redirectURI` that is no URL.
    public init(
        gtmOAuth2Persistence text: String, tokenURL: URL, redirectURI: String, clientID: String, clientSecret: String?
    ) throws(SessionError) {
        let isURL = redirectURI.utf8.allSatisfy { (0x21...0x7E).contains($0) } && URL(string: redirectURI) != nil
        guard !redirectURI.isEmpty, isURL else { throw .storage("the redirect URI is no URL") }
        let values = GTMOAuth2Text.read(text).filter { !$0.value.isEmpty }
        let verification = values["userEmailIsVerified"] ?? values["isVerified"]
        let tokens = OAuthTokens(
            accessToken: values["access_token"], refreshToken: values["refresh_token"], scope: values["scope"],
            expiresAt: Self.past, userID: values["userID"], userEmail: values["userEmail"] ?? values["email"],
            userEmailIsVerified: verification.map(isTrue) ?? false)
        guard tokens.isUsable else { throw .storage("the text holds no token") }
        self.init(
            tokens: tokens, configuration: OAuthConfiguration(authorizationEndpoint: tokenURL, tokenEndpoint: tokenURL),
            clientID: clientID, clientSecret: clientSecret, serviceProvider: values["serviceProvider"],
            emailVerification: verification)
    }

    /// The text that GTMAppAuth reads and writes for GTMOAuth2, by its names. Unreserved characters are bare, all others
    /// `%XX`.
    public func gtmOAuth2Persistence() -> String {
        GTMOAuth2Text.write([
            "access_token": tokens.accessToken, "refresh_token": tokens.refreshToken, "scope": tokens.scope,
            "serviceProvider": serviceProvider, "userID": tokens.userID, "userEmail": tokens.userEmail,
            "userEmailIsVerified": emailVerification.map(isTrue) == tokens.userEmailIsVerified
                ? emailVerification : tokens.userEmailIsVerified ? "y" : nil,
        ])
    }

    private static let past = Date(timeIntervalSince1970: 0)

    /// As `OAuthSession(restoringFrom:)` reads it.
    var stored: StoredOAuthSession {
        StoredOAuthSession(configuration: configuration, clientID: clientID, clientSecret: clientSecret, tokens: tokens)
    }
}

extension LegacySession: Redacted {
    public var description: String { "LegacySession(\(configuration.tokenEndpoint.host ?? ""), \(tokens))" }
}
