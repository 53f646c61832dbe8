import HTTPTypes
import Hummingbird
import JSON

/// The public documents of appleid.apple.com, under `/apple`: key set and discovery.
struct AppleRoutes: Sendable {
    let keys: ProviderKeys
    let issuer: String

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("auth/keys") { _, _ in
            try await KeySetResponse(keys: keys.fetch(), cacheControl: keys.cacheControl).response()
        }
        group.get(".well-known/openid-configuration") { request, _ in
            discovery(at: request.origin + "/apple")
        }
    }

    private func discovery(at base: String) -> Response {
        .json { writer in
            writer.member("issuer", issuer)
            writer.member("authorization_endpoint", base + "/auth/authorize")
            writer.member("token_endpoint", base + "/auth/token")
            writer.member("revocation_endpoint", base + "/auth/revoke")
            writer.member("jwks_uri", base + "/auth/keys")
            writer.member("response_types_supported", ["code"])
            writer.member("response_modes_supported", ["query", "fragment", "form_post"])
            writer.member("subject_types_supported", ["pairwise"])
            writer.member("id_token_signing_alg_values_supported", ["RS256"])
            writer.member("scopes_supported", ["openid", "email", "name"])
            writer.member("token_endpoint_auth_methods_supported", ["client_secret_post"])
            writer.member(
                "claims_supported",
                [
                    "aud", "email", "email_verified", "exp", "iat", "is_private_email", "iss", "nonce",
                    "nonce_supported", "real_user_status", "sub", "transfer_sub",
                ])
        }
    }
}

extension Request {
    /// The address under which this request reached the sandbox, so that discovery works behind a mapped port.
    var origin: String { "http://" + (head.authority ?? "127.0.0.1") }
}
