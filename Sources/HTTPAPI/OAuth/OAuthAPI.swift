import Accounts
package import HTTPServer
import JSON
package import OAuthServer
import SignIn

/// The endpoints that clients of the OAuth server call (RFC 6749, 7009, 7662, 6750, 8414). Their answers are the RFCs', not
/// problems.
package struct OAuthAPI: Sendable {
    let server: OAuthServer

    package init(server: OAuthServer) { self.server = server }

    package var routes: [Route] {
        let forClients = [
            Route(.post, "/oauth/token") { request in try await token(request) },
            Route(.post, "/oauth/revoke", priority: .revoking) { request in try await revoke(request) },
            Route(.post, "/oauth/introspect") { request in try await introspect(request) },
        ]
        return forClients.map(Self.answeringForm) + [
            Route(.get, "/oauth/userinfo") { request in try await userInfo(request) }
                .refusedEarly(by: Self.unread),
            Route(.post, "/oauth/userinfo") { request in try await userInfo(request) }
                .refusedEarly(by: Self.unread),
            Self.answeringForm(
                Route(.get, "/.well-known/oauth-authorization-server", priority: .reading) { _ in
                    let namesIssuer = await server.namesIssuer()
                    return .json(caching: .shared(seconds: 60)) { document in
                        document.member("issuer", server.configuration.issuer)
                        document.oauthMembers(of: server, namesIssuer: namesIssuer)
                    }
                }),
            flipRoute,
        ]
    }

    private static let unread: Route.EarlyRefusal = { problem, _ in OAuthAnswers.unread(problem) }

    /// The same operation, with the refusals of RFC 6749 §5.2, those before it begins too: they have no `error`.
    private static func answeringForm(_ route: Route) -> Route {
        route.refused(by: OAuthAnswers.answer(to:), others: OAuthAnswers.answer(to:))
            .refusedEarly(by: Self.unread)
    }

    func call(of request: Request) -> Call { server.calls.begin(by: request.caller()) }

    private func token(_ request: Request) async throws -> Response {
        let (form, client, call) = try await clientRequest(request)
        switch try await server.token(TokenRequest(form.values), of: client, by: call) {
        case .accountFound:
            return OAuthAnswers.json(.ok) { $0.member("account_found", "true") }
        case .tokens(let tokens):
            return OAuthAnswers.json(.ok) { writer in
                writer.member("token_type", "Bearer")
                writer.member("access_token", tokens.accessToken)
                writer.member("refresh_token", tokens.refreshToken)
                writer.member("expires_in", tokens.expiresIn)
                writer.member("scope", tokens.scope)
            }
        }
    }

    private func revoke(_ request: Request) async throws -> Response {
        let (form, client, call) = try await clientRequest(request)
        guard let token = form.values["token"] else { throw OAuthFailure.invalidRequest("token is missing") }
        try await server.revoke(token, of: client, by: call)
        return .empty(.ok)
    }

    private func introspect(_ request: Request) async throws -> Response {
        let (form, client, call) = try await clientRequest(request)
        guard let token = form.values["token"] else { throw OAuthFailure.invalidRequest("token is missing") }
        let found = try await server.introspect(token, for: client, by: call)
        return OAuthAnswers.json(.ok) { writer in
            writer.member("active", found != nil)
            guard let found else { return }
            writer.member("scope", found.scope)
            writer.member("client_id", found.clientID)
            writer.member("sub", "\(found.subject)")
            if found.isAccessToken { writer.member("token_type", "Bearer") }
            if let end = found.expiresAt { writer.member("exp", end.seconds) }
            writer.member("iat", found.issuedAt.seconds)
            writer.member("iss", found.issuer)
        }
    }

    /// - Returns: the form, and the client whose credentials are in it or in the header field.
    private func clientRequest(_ request: Request) async throws -> (form: OAuthForm, client: OAuthClient, call: Call) {
        let form = try OAuthForm(request)
        let call = call(of: request)
        let authentication = try ClientAuthentication(
            authorizations: request.headers("Authorization"), clientID: form.values["client_id"],
            clientSecret: form.values["client_secret"])
        return (form, try await server.authenticate(authentication, by: call), call)
    }

    /// The token comes in the header field alone (RFC 6750 §2.1): addresses and forms are kept in too many places. One that
    /// comes there is none; beside the field's it is a second way, of which a request has one (RFC 6750 §2).
    private func userInfo(_ request: Request) async throws -> Response {
        if ![.absent, .otherScheme].contains(request.bearer), request.has("access_token") {
            return OAuthAnswers.bearer(.badRequest, "invalid_request")
        }
        switch request.bearer {
        case .absent, .otherScheme: return OAuthAnswers.bearer(.unauthorized, nil)
        case .malformed: return OAuthAnswers.bearer(.badRequest, "invalid_request")
        case .token(let bytes):
            let token = String(decoding: bytes, as: UTF8.self)
            do throws(OAuthServer.UserInfoRefusal) {
                let info = try await server.userInfo(token, by: call(of: request))
                return OAuthAnswers.json(.ok) { writer in
                    writer.member("sub", "\(info.subject)")
                    if let email = info.email {
                        writer.member("email", email.text)
                        writer.member("email_verified", info.isEmailProven)
                    }
                    writer.member("name", info.name)
                }
            } catch {
                switch error {
                case .invalidToken: return OAuthAnswers.bearer(.unauthorized, "invalid_token")
                case .insufficientScope:
                    return OAuthAnswers.bearer(.forbidden, "insufficient_scope", scope: "profile email")
                case .failed(let failure): return OAuthAnswers.answer(to: failure)
                }
            }
        }
    }
}

extension Request {
    /// Whether the query or the form has this field, or can't be read.
    fileprivate func has(_ name: String) -> Bool {
        guard let values = try? queryValues(), values.all(name).isEmpty else { return true }
        guard !body.isEmpty else { return false }
        do {
            return try form(ignoringUnknown: true) { !$0.all(name).isEmpty }
        } catch {
            // A body of another type has no fields.
            return (error as? Problem)?.code != .unsupportedMediaType
        }
    }
}

/// The form of a client's request: each field once, where an empty one is none (RFC 6749 §3.2). What the server doesn't know is
/// ignored.
struct OAuthForm {
    private static let names = [
        "grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope", "intent", "assertion", "token",
        "token_type_hint", "client_id", "client_secret",
    ]

    let values: [String: String]

    init(_ request: Request) throws {
        values = try request.form(ignoringUnknown: true) { form in
            var values: [String: String] = [:]
            for name in Self.names {
                let all = form.all(name).filter { !$0.isEmpty }
                guard all.count <= 1 else { throw OAuthFailure.invalidRequest("\(name) is repeated") }
                values[name] = all.first
            }
            guard !form.hasRepeats else { throw OAuthFailure.invalidRequest("a parameter is repeated") }
            return values
        }
    }
}

extension JSONWriter {
    /// What `openid-configuration` has too.
    ///
    /// - Parameter namesIssuer: as ``OAuthServer/namesIssuer()`` has it.
    mutating func oauthMembers(of server: OAuthServer, namesIssuer: Bool) {
        let url = server.configuration.publicURL
        let clientAuthentication = ["client_secret_basic", "client_secret_post"]
        member("authorization_endpoint", url + "/oauth/authorize")
        member("token_endpoint", url + "/oauth/token")
        member("revocation_endpoint", url + "/oauth/revoke")
        member("introspection_endpoint", url + "/oauth/introspect")
        member("userinfo_endpoint", url + "/oauth/userinfo")
        member("scopes_supported", server.configuration.scopes.texts)
        member("response_types_supported", ["code"])
        member("response_modes_supported", ["query"])
        member("grant_types_supported", server.grantTypes)
        for endpoint in ["token", "revocation", "introspection"] {
            member("\(endpoint)_endpoint_auth_methods_supported", clientAuthentication)
        }
        member("code_challenge_methods_supported", ["S256"])
        member("authorization_response_iss_parameter_supported", namesIssuer)
    }
}
