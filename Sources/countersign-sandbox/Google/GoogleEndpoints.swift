import Foundation
import HTTPTypes
import Hummingbird

/// Google's endpoints for server clients: `/token` and `/revoke` of oauth2.googleapis.com.
extension Provider<Google> {
    func addEndpoints(to group: RouterGroup<SandboxContext>) {
        addEndpoint("token", to: group, token)
        addEndpoint("revoke", to: group, revoke)
    }

    // MARK: /token

    private func token(_ request: Request) async throws -> Response {
        let form = try await EndpointForm(request)
        let grantType = try form.required("grant_type")
        let now = clock.now
        switch grantType {
        case "authorization_code":
            let clientID = try client(form, request.headers[.authorization])
            let exchanged = try accounts.exchange(form.required("code"), clientID: clientID, form, at: now)
            let request = exchanged.identity.request
            return try await answer(exchanged, nonce: request.nonce, request.exchange, at: now)
        case "refresh_token":
            let clientID = try client(form, request.headers[.authorization])
            let exchanged = try accounts.refresh(form.required("refresh_token"), clientID: clientID, at: now)
            return try await answer(exchanged, nonce: nil, .none, at: now)
        default:
            throw EndpointRefusal.google(.unsupportedGrantType, "Invalid grant_type")
        }
    }

    private func answer(
        _ exchanged: Accounts.Exchanged, nonce: String?, _ plan: ExchangePlan, at now: Int64
    ) async throws -> Response {
        let identity = exchanged.identity
        let answer: JSONObject = [
            "access_token": exchanged.accessToken, "expires_in": Google.accessLifetime,
            "refresh_token": exchanged.refreshToken, "scope": Google.scopeText(identity.request.scopes),
            "token_type": "Bearer",
        ]
        return try await tokens(answer, plan, at: now) { period in
            let clientID = identity.request.codeClientID
            return identity.claims(
                issuer: issuer, audience: clientID, authorizedParty: clientID, nonce: nonce,
                accessToken: exchanged.accessToken, period: period, seed: seed)
        }
    }

    /// Authenticates the client by its secret, in the body or as Basic, but not both (RFC 6749 §2.3).
    private func client(_ form: EndpointForm, _ authorization: String?) throws -> String {
        let clientID: String
        let secret: String
        if let authorization {
            guard form["client_secret"] == nil else {
                throw EndpointRefusal.google(.invalidRequest, "Client credentials in the header and in the body.")
            }
            guard let basic = Self.basic(authorization) else {
                throw EndpointRefusal.google(.invalidClient, "The Authorization header is not Basic.")
            }
            guard form["client_id"] == nil || form["client_id"] == basic.id else {
                throw EndpointRefusal.google(.invalidRequest, "Two different clients.")
            }
            (clientID, secret) = basic
        } else {
            clientID = try form.required("client_id")
            // Without a secret it would be a public client, which these are not.
            guard let text = form["client_secret"] else {
                throw EndpointRefusal.google(.invalidRequest, "client_secret is missing.")
            }
            secret = text
        }
        try accounts.registry.requireClient(clientID, secret: secret)
        return clientID
    }

    private static func basic(_ header: String) -> (id: String, secret: String)? {
        guard header.hasPrefix("Basic "), let octets = Data(base64Encoded: String(header.dropFirst(6))),
            let text = String(validating: octets, as: UTF8.self)
        else { return nil }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let id = FormFields.decode(parts[0]), let secret = FormFields.decode(parts[1]) else {
            return nil
        }
        return (id, secret)
    }

    // MARK: /revoke

    /// Takes the token from the body or, as in Google's own example, from the query, but not from both.
    private func revoke(_ request: Request) async throws -> Response {
        let form = try await EndpointForm(request, allowsNone: true)
        let query = FormFields(Array((request.uri.query ?? "").utf8))?.fields.filter { $0.name == "token" } ?? []
        let tokens = query.map(\.value) + [form["token"]].compactMap { $0 }
        guard tokens.count <= 1 else { throw EndpointForm.Fault.repeated("token") }
        guard let token = tokens.first, !token.isEmpty else { throw EndpointForm.Fault.missing("token") }
        guard try accounts.revoke(token, at: clock.now) else {
            throw EndpointRefusal.google(.invalidToken, "Token expired or revoked")
        }
        return .uncached([:])
    }
}
