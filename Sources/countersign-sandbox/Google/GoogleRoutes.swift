import Hummingbird
import JSON

/// The public documents of accounts.google.com and www.googleapis.com, under `/google`: key set and configurations.
struct GoogleRoutes: Sendable {
    let keys: ProviderKeys
    let issuer: String

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("oauth2/v3/certs") { _, _ in
            try await KeySetResponse(keys: keys.fetch(), cacheControl: keys.cacheControl).response()
        }
        group.get(".well-known/openid-configuration") { request, _ in
            discovery(at: request.origin + "/google")
        }
        group.get(".well-known/risc-configuration") { request, _ in
            Response.json { writer in
                // With the slash at the end, as in the tokens.
                writer.member("issuer", issuer + "/")
                writer.member("jwks_uri", request.origin + "/google/oauth2/v3/certs")
                writer.member("delivery_methods_supported", [GoogleStreamEndpoints.deliveryMethod])
            }
        }
    }

    private func discovery(at base: String) -> Response {
        .json { writer in
            writer.member("issuer", issuer)
            writer.member("authorization_endpoint", base + "/o/oauth2/v2/auth")
            writer.member("token_endpoint", base + "/token")
            writer.member("revocation_endpoint", base + "/revoke")
            writer.member("jwks_uri", base + "/oauth2/v3/certs")
            // Google's own document has more; these are served.
            writer.member("response_types_supported", ["code"])
            writer.member("response_modes_supported", ["query"])
            writer.member("subject_types_supported", ["public"])
            writer.member("id_token_signing_alg_values_supported", ["RS256"])
            writer.member("scopes_supported", ["openid", "email", "profile"])
            writer.member("token_endpoint_auth_methods_supported", ["client_secret_post", "client_secret_basic"])
            writer.member(
                "claims_supported",
                [
                    "aud", "email", "email_verified", "exp", "family_name", "given_name", "iat", "iss", "name",
                    "picture", "sub",
                ])
            writer.member("code_challenge_methods_supported", ["plain", "S256"])
        }
    }
}
