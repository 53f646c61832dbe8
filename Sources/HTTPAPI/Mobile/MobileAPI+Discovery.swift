import HTTPServer
import JSON
import OAuthServer
import SignIn

extension MobileAPI {
    /// Seconds for which caches may store our key set.
    private static let cachedSeconds = 300

    var discoveryRoutes: [Route] {
        [
            Route(.get, "/.well-known/jwks.json", priority: .observing) { _ in
                Response(
                    .ok, contentType: "application/jwk-set+json", body: service.accessTokens.publishedKeys,
                    caching: .shared(seconds: MobileAPI.cachedSeconds))
            },
            Route(.get, "/.well-known/openid-configuration", priority: .observing) { _ in
                let namesIssuer = await oauth?.namesIssuer() ?? false
                return .json(caching: .shared(seconds: MobileAPI.cachedSeconds)) { document in
                    document.member("issuer", service.accessTokens.configuration.issuer)
                    document.member("jwks_uri", publicURL + "/.well-known/jwks.json")
                    document.member("id_token_signing_alg_values_supported", ["ES256"])
                    document.member("subject_types_supported", ["public"])
                    if let oauth { document.oauthMembers(of: oauth, namesIssuer: namesIssuer) }
                }
            },
        ]
    }
}
