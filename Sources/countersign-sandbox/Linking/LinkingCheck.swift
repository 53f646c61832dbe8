/// The ways in which Google comes to a link, after what it needs no person for.
enum LinkingWay: String, CaseIterable, Sendable {
    case endpoints
    case browser
    case flip
    case streamlined

    var title: String {
        switch self {
        case .endpoints: "Without a person"
        case .browser: "In the browser"
        case .flip: "App Flip"
        case .streamlined: "Streamlined linking"
        }
    }

    /// Its checks in the order of the report.
    var checks: [LinkingCheck] {
        switch self {
        case .endpoints:
            [
                .unknownClient, .unknownRedirectURI, .unsupportedResponseType, .authorizationPage, .clientSecret,
                .unknownCode, .invalidRefreshToken, .unknownAccessToken, .unknownRevocation, .flipPage,
                .appleAssociation, .androidAssociation,
            ]
        case .browser: [.state, .code, .refusal] + LinkingCheck.ofTokens + [.revocation, .codeOnce]
        case .flip: [.redirectURI, .state, .code, .refusal] + LinkingCheck.ofTokens + [.revocation, .codeOnce]
        case .streamlined:
            [.check, .get, .create] + LinkingCheck.ofAssertions + [.unknownIntent] + LinkingCheck.ofTokens
                + [.revocation]
        }
    }
}

/// What is checked: as Google's validation tool and its test tool for App Flip do, and what its documents demand besides.
struct LinkingCheck: Hashable, Sendable {
    let name: String
    /// What holds when the check has passed.
    let title: String

    private init(_ name: String, _ title: String) { (self.name, self.title) = (name, title) }

    // Without a person.
    static let unknownClient = LinkingCheck("unknown-client", "An unknown client gets a page with 400, and no redirect")
    static let unknownRedirectURI = LinkingCheck(
        "unknown-redirect-uri", "A redirect URI that is not registered gets a page with 400, and no redirect")
    static let unsupportedResponseType = LinkingCheck(
        "unsupported-response-type",
        "Another response type gets unsupported_response_type at the redirect URI, with the state unchanged")
    static let authorizationPage = LinkingCheck(
        "authorization-page", "The person gets a page that can't be framed, is not stored, and is reached without 307")
    static let clientSecret = LinkingCheck("client-secret", "A wrong client secret gets 401 invalid_client")
    static let unknownCode = LinkingCheck("unknown-code", "An unknown code gets 400 invalid_grant")
    static let invalidRefreshToken = LinkingCheck(
        "invalid-refresh-token", "An invalid refresh token gets 400 invalid_grant")
    static let unknownAccessToken = LinkingCheck(
        "unknown-access-token", "Userinfo answers an unknown access token with 401 and a Bearer challenge")
    static let unknownRevocation = LinkingCheck("unknown-revocation", "Revoking an unknown token gets 200")
    static let flipPage = LinkingCheck("flip-page", "The App Flip link is a plain page in a browser, and leads nowhere")
    static let appleAssociation = LinkingCheck(
        "apple-association", "apple-app-site-association is JSON by a plain 200, and names the path of the link")
    static let androidAssociation = LinkingCheck("android-association", "assetlinks.json is JSON by a plain 200")

    // A browser's or an app's answer.
    static let redirectURI = LinkingCheck("redirect-uri", "The app answers at the redirect URI of the request")
    static let state = LinkingCheck("state", "The state comes back as it was")
    static let code = LinkingCheck("code", "A person who allows brings back a code, and no error")
    static let refusal = LinkingCheck("refusal", "A refusal comes back as an error that Google knows, with the state")

    // Tokens, however they came.
    static let tokenAnswer = LinkingCheck("token-answer", "The token answer is 200 and JSON, with a bearer token")
    static let tokenLifetime = LinkingCheck("token-lifetime", "expires_in is a number")
    static let tokenNotStored = LinkingCheck("token-not-stored", "The token answer is not to be stored")
    static let opaqueAccessToken = LinkingCheck("opaque-access-token", "The access token is not a JWT")
    static let refreshToken = LinkingCheck("refresh-token", "An access token that expires comes with a refresh token")
    static let userInfo = LinkingCheck("userinfo", "Userinfo has sub, and the address if the scope email was asked for")
    static let newAccessToken = LinkingCheck("new-access-token", "A refresh gives another access token")
    static let earlierAccessToken = LinkingCheck(
        "earlier-access-token", "The earlier access token works after a refresh")
    static let keptRefreshToken = LinkingCheck("kept-refresh-token", "The refresh token works again")
    static let revocation = LinkingCheck(
        "revocation", "Revocation ends the refresh token and its access tokens at once")
    static let codeOnce = LinkingCheck("code-once", "The code can't be redeemed a second time")

    // Streamlined linking.
    static let check = LinkingCheck("check", "check answers 200 with account_found true, or 404 with false")
    static let get = LinkingCheck(
        "get", "get gives tokens where check has found the account, else 401 linking_error with login_hint")
    static let create = LinkingCheck(
        "create", "create makes an account that check then finds, or answers 401 linking_error")
    static let assertionAudience = LinkingCheck(
        "assertion-audience", "An assertion for another client gets 400 invalid_grant")
    static let assertionIssuer = LinkingCheck(
        "assertion-issuer", "An assertion of another issuer gets 400 invalid_grant")
    static let assertionExpired = LinkingCheck("assertion-expired", "An expired assertion gets 400 invalid_grant")
    static let assertionForged = LinkingCheck(
        "assertion-forged", "An assertion with a forged signature gets 400 invalid_grant")
    static let assertionUnsigned = LinkingCheck(
        "assertion-unsigned", "An assertion without a signature gets 400 invalid_grant")
    static let unknownIntent = LinkingCheck("unknown-intent", "An unknown intent gets 400 invalid_request")

    static let ofTokens: [LinkingCheck] = [
        .tokenAnswer, .tokenLifetime, .tokenNotStored, .opaqueAccessToken, .refreshToken, .userInfo, .newAccessToken,
        .earlierAccessToken, .keptRefreshToken,
    ]

    static let ofAssertions: [LinkingCheck] = [
        .assertionAudience, .assertionIssuer, .assertionExpired, .assertionForged, .assertionUnsigned,
    ]
}
