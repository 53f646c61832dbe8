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
enum LinkingCheck: String, Sendable {
    // Without a person.
    case unknownClient = "unknown-client"
    case unknownRedirectURI = "unknown-redirect-uri"
    case unsupportedResponseType = "unsupported-response-type"
    case authorizationPage = "authorization-page"
    case clientSecret = "client-secret"
    case unknownCode = "unknown-code"
    case invalidRefreshToken = "invalid-refresh-token"
    case unknownAccessToken = "unknown-access-token"
    case unknownRevocation = "unknown-revocation"
    case flipPage = "flip-page"
    case appleAssociation = "apple-association"
    case androidAssociation = "android-association"
    // A browser's or an app's answer.
    case redirectURI = "redirect-uri"
    case state
    case code
    case refusal
    // Tokens, however they came.
    case tokenAnswer = "token-answer"
    case tokenLifetime = "token-lifetime"
    case tokenNotStored = "token-not-stored"
    case opaqueAccessToken = "opaque-access-token"
    case refreshToken = "refresh-token"
    case userInfo = "userinfo"
    case newAccessToken = "new-access-token"
    case earlierAccessToken = "earlier-access-token"
    case keptRefreshToken = "kept-refresh-token"
    case revocation
    case codeOnce = "code-once"
    // Streamlined linking.
    case check
    case get
    case create
    case assertionAudience = "assertion-audience"
    case assertionIssuer = "assertion-issuer"
    case assertionExpired = "assertion-expired"
    case assertionForged = "assertion-forged"
    case assertionUnsigned = "assertion-unsigned"
    case unknownIntent = "unknown-intent"

    static let ofTokens: [LinkingCheck] = [
        .tokenAnswer, .tokenLifetime, .tokenNotStored, .opaqueAccessToken, .refreshToken, .userInfo, .newAccessToken,
        .earlierAccessToken, .keptRefreshToken,
    ]

    static let ofAssertions: [LinkingCheck] = [
        .assertionAudience, .assertionIssuer, .assertionExpired, .assertionForged, .assertionUnsigned,
    ]

    /// What holds when the check has passed.
    var title: String {
        switch self {
        case .unknownClient: "An unknown client gets a page with 400, and no redirect"
        case .unknownRedirectURI: "A redirect URI that is not registered gets a page with 400, and no redirect"
        case .unsupportedResponseType:
            "Another response type gets unsupported_response_type at the redirect URI, with the state unchanged"
        case .authorizationPage:
            "The person gets a page that can't be framed, is not stored, and is reached without 307"
        case .clientSecret: "A wrong client secret gets 401 invalid_client"
        case .unknownCode: "An unknown code gets 400 invalid_grant"
        case .invalidRefreshToken: "An invalid refresh token gets 400 invalid_grant"
        case .unknownAccessToken: "Userinfo answers an unknown access token with 401 and a Bearer challenge"
        case .unknownRevocation: "Revoking an unknown token gets 200"
        case .flipPage: "The App Flip link is a plain page in a browser, and leads nowhere"
        case .appleAssociation: "apple-app-site-association is JSON by a plain 200, and names the path of the link"
        case .androidAssociation: "assetlinks.json is JSON by a plain 200"
        case .redirectURI: "The app answers at the redirect URI of the request"
        case .state: "The state comes back as it was"
        case .code: "A person who allows brings back a code, and no error"
        case .refusal: "A refusal comes back as an error that Google knows, with the state"
        case .tokenAnswer: "The token answer is 200 and JSON, with a bearer token"
        case .tokenLifetime: "expires_in is a number"
        case .tokenNotStored: "The token answer is not to be stored"
        case .opaqueAccessToken: "The access token is not a JWT"
        case .refreshToken: "An access token that expires comes with a refresh token"
        case .userInfo: "Userinfo has sub, and the address if the scope email was asked for"
        case .newAccessToken: "A refresh gives another access token"
        case .earlierAccessToken: "The earlier access token works after a refresh"
        case .keptRefreshToken: "The refresh token works again"
        case .revocation: "Revocation ends the refresh token and its access tokens at once"
        case .codeOnce: "The code can't be redeemed a second time"
        case .check: "check answers 200 with account_found true, or 404 with false"
        case .get: "get gives tokens where check has found the account, else 401 linking_error with login_hint"
        case .create: "create makes an account that check then finds, or answers 401 linking_error"
        case .assertionAudience: "An assertion for another client gets 400 invalid_grant"
        case .assertionIssuer: "An assertion of another issuer gets 400 invalid_grant"
        case .assertionExpired: "An expired assertion gets 400 invalid_grant"
        case .assertionForged: "An assertion with a forged signature gets 400 invalid_grant"
        case .assertionUnsigned: "An assertion without a signature gets 400 invalid_grant"
        case .unknownIntent: "An unknown intent gets 400 invalid_request"
        }
    }
}
