import Foundation
import HTTPTypes
import Hummingbird

/// Google's endpoints for server clients: `/token` and `/revoke` of oauth2.googleapis.com.
struct GoogleEndpoints: Sendable {
    let accounts: GoogleAccounts
    let mint: TokenMint
    let issuer: String
    let clock: SandboxClock

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("token") { request, _ in try await token(request) }
        group.post("revoke") { request, _ in try await revoke(request) }
    }

    // MARK: /token

    private func token(_ request: Request) async throws -> Response {
        let form = try await form(of: request)
        let grantType = try required("grant_type", form)
        let now = clock.now
        switch grantType {
        case "authorization_code":
            let clientID = try client(form, request.headers[.authorization])
            let code = try required("code", form)
            let exchanged = try accounts.exchange(
                code, clientID: clientID, redirectURI: form["redirect_uri"], verifier: form["code_verifier"], at: now)
            return try await answer(exchanged, nonce: exchanged.identity.nonce, exchanged.identity.exchange, at: now)
        case "refresh_token":
            let clientID = try client(form, request.headers[.authorization])
            let exchanged = try accounts.refresh(required("refresh_token", form), clientID: clientID, at: now)
            return try await answer(exchanged, nonce: nil, .none, at: now)
        default:
            throw EndpointRefusal.google(.unsupportedGrantType, "Invalid grant_type")
        }
    }

    private func answer(
        _ exchanged: GoogleAccounts.Exchanged, nonce: String?, _ plan: ExchangePlan, at now: Int64
    ) async throws -> Response {
        let identity = exchanged.identity
        let claims = identity.claims(
            issuer: issuer, audience: .string(identity.serverClientID), authorizedParty: identity.serverClientID,
            nonce: nonce, accessToken: exchanged.accessToken,
            period: plan.overrides.period(at: now, lifetime: GoogleAuthorizer.lifetime), seed: accounts.seed)
        var answer = ClaimSet()
        answer.set("access_token", exchanged.accessToken)
        answer.set("expires_in", .integer(GoogleAccounts.accessLifetime))
        answer.set("refresh_token", exchanged.refreshToken)
        answer.set("scope", identity.scopeText)
        answer.set("token_type", "Bearer")
        if !plan.omitsIDToken { answer.set("id_token", try await mint.mint(claims, overrides: plan.overrides)) }
        plan.apply(to: &answer)
        return .tokens(answer)
    }

    /// Authenticates the client by its secret, in the body or as Basic, but not both (RFC 6749 §2.3).
    private func client(_ form: EndpointForm, _ authorization: String?) throws(EndpointRefusal) -> String {
        let clientID: String
        let secret: String
        if let authorization {
            guard form["client_secret"] == nil else {
                throw .google(.invalidRequest, "Client credentials in the header and in the body.")
            }
            guard let basic = Self.basic(authorization) else {
                throw .google(.invalidClient, "The Authorization header is not Basic.")
            }
            guard form["client_id"] == nil || form["client_id"] == basic.id else {
                throw .google(.invalidRequest, "Two different clients.")
            }
            (clientID, secret) = basic
        } else {
            clientID = try required("client_id", form)
            // Without a secret it would be a public client, which these are not.
            guard let text = form["client_secret"] else {
                throw .google(.invalidRequest, "client_secret is missing.")
            }
            secret = text
        }
        try accounts.requireClient(clientID, secret: secret)
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
        let form = try await form(of: request, allowsNone: true)
        let query = FormFields(Array((request.uri.query ?? "").utf8))?.fields.filter { $0.name == "token" } ?? []
        let tokens = query.map(\.value) + [form["token"]].compactMap { $0 }
        guard tokens.count <= 1 else {
            throw EndpointRefusal.google(.invalidRequest, "OAuth 2 parameters can only have a single value: token")
        }
        guard let token = tokens.first, !token.isEmpty else {
            throw EndpointRefusal.google(.invalidRequest, "Missing required parameter: token")
        }
        try accounts.revoke(token, at: clock.now)
        return .tokens(ClaimSet())
    }

    // MARK: Common to both

    private func form(of request: Request, allowsNone: Bool = false) async throws -> EndpointForm {
        do {
            return try await EndpointForm(request, allowsNone: allowsNone)
        } catch let fault as EndpointForm.Fault {
            switch fault {
            case .contentType:
                throw EndpointRefusal.google(.invalidRequest, "Not application/x-www-form-urlencoded")
            case .encoding:
                throw EndpointRefusal.google(.invalidRequest, "Not percent-encoded UTF-8")
            case .repeated(let name):
                let sentence = "OAuth 2 parameters can only have a single value: \(name)"
                throw EndpointRefusal.google(.invalidRequest, sentence)
            }
        }
    }

    private func required(_ name: String, _ form: EndpointForm) throws(EndpointRefusal) -> String {
        guard let value = form[name], !value.isEmpty else {
            throw .google(.invalidRequest, "Missing required parameter: \(name)")
        }
        return value
    }
}
