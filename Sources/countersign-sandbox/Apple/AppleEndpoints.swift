import HTTPTypes
import Hummingbird

/// Apple's endpoints with client authentication: `/auth/token`, `/auth/revoke` and `/auth/usermigrationinfo`.
///
/// They refuse what Apple documents as refused, and refuse in doubt: a client that passes here makes none of the
/// mistakes that Apple's one-word errors do not distinguish. The history distinguishes them.
extension Provider<Apple> {
    func addEndpoints(to group: RouterGroup<SandboxContext>) {
        addEndpoint("auth/token", to: group, token)
        addEndpoint("auth/revoke", to: group, revoke)
        addEndpoint("auth/usermigrationinfo", to: group, userMigrationInfo)
    }

    // MARK: /auth/token

    private func token(_ request: Request) async throws -> Response {
        let form = try await formWithCredentials(request)
        let now = clock.now
        switch try form.required("grant_type") {
        case "authorization_code":
            try allow(["grant_type", "client_id", "client_secret", "code", "redirect_uri"], in: form)
            return try await exchange(form, at: now)
        case "refresh_token":
            try allow(["grant_type", "client_id", "client_secret", "refresh_token"], in: form)
            let refreshToken = try form.required("refresh_token")
            let (clientID, _) = try client(form, at: now)
            // Without an ID token, as Apple has been seen to answer, and never with a refresh token.
            return .uncached(Self.answer(try accounts.refresh(refreshToken, clientID: clientID, at: now).accessToken))
        case "client_credentials":
            try allow(["grant_type", "client_id", "client_secret", "scope"], in: form)
            let scope = try form.required("scope")
            let (clientID, team) = try client(form, forMigration: true, at: now)
            guard scope == "user.migration" else {
                throw EndpointRefusal.apple(.invalidScope, "scope is not user.migration")
            }
            let token = accounts.change { state in
                state.registry.issueMigrationToken(clientID: clientID, team: team, seed: seed, at: now)
            }
            return .uncached(Self.answer(token))
        default:
            throw EndpointRefusal.apple(.unsupportedGrantType, "grant_type is none of Apple's")
        }
    }

    private func exchange(_ form: EndpointForm, at now: Int64) async throws -> Response {
        let code = try form.required("code")
        let (clientID, _) = try client(form, at: now)
        let exchanged = try accounts.exchange(code, clientID: clientID, form, at: now)
        let identity = exchanged.identity
        let subject = accounts.registry.subject(of: identity.person, in: clientID, seed: seed, at: now)
        return try await tokens(
            Self.answer(exchanged.accessToken, exchanged.refreshToken), identity.request.exchange, at: now
        ) { period in
            identity.claims(
                issuer: issuer, audience: clientID, subject: subject, authenticatedAt: identity.authorizedAt,
                period: period, hash: ("at_hash", of: exchanged.accessToken), seed: seed)
        }
    }

    private static func answer(_ accessToken: String, _ refreshToken: String? = nil) -> JSONObject {
        [
            "access_token": accessToken, "token_type": "Bearer", "expires_in": Apple.accessLifetime,
            "refresh_token": refreshToken,
        ]
    }

    // MARK: /auth/revoke

    private func revoke(_ request: Request) async throws -> Response {
        let form = try await formWithCredentials(request)
        try allow(["client_id", "client_secret", "token", "token_type_hint"], in: form)
        let now = clock.now
        let token = try form.required("token")
        let (clientID, _) = try client(form, at: now)
        let hint = form["token_type_hint"]
        guard hint == nil || hint == "refresh_token" || hint == "access_token" else {
            throw EndpointRefusal.apple(.invalidRequest, "token_type_hint is no type of token")
        }
        // A token that is unknown, dead or another client's ends nothing and is not an error.
        _ = try accounts.revoke(token, at: now) { token throws(EndpointRefusal) in
            guard token.pair.clientID == clientID else { return false }
            guard hint == nil || hint == token.kind.rawValue else {
                throw .apple(.invalidRequest, "token_type_hint is wrong")
            }
            return true
        }
        return Response(status: .ok, headers: [.cacheControl: "no-store"])
    }

    // MARK: /auth/usermigrationinfo

    private func userMigrationInfo(_ request: Request) async throws -> Response {
        let form = try await form(of: request)
        let isSender = form["sub"] != nil || form["target"] != nil
        try allow(["client_id", "client_secret"] + (isSender ? ["sub", "target"] : ["transfer_sub"]), in: form)
        let now = clock.now
        let (clientID, team) = try client(form, forMigration: true, at: now)
        let bearer = request.headers[.authorization].flatMap { $0.hasPrefix("Bearer ") ? $0.dropFirst(7) : nil }
        guard let bearer,
            accounts.registry.accepts(migrationToken: String(bearer), clientID: clientID, team: team, at: now)
        else { throw EndpointRefusal.apple(.invalidClient, "no live user.migration token of this client and team") }

        if isSender {
            let (subject, target) = (try form.required("sub"), try form.required("target"))
            let transferSubject = try accounts.change { state throws(EndpointRefusal) in
                try state.transferSubject(of: subject, clientID: clientID, from: team, to: target, seed: seed)
            }
            return .uncached(["transfer_sub": transferSubject])
        }
        let transferSubject = try form.required("transfer_sub")
        let person = try accounts.change { state throws(EndpointRefusal) in
            try state.transferred(transferSubject, clientID: clientID, to: team, seed: seed, at: now)
        }
        let relay = person.hidesEmail(from: team) ? person.address(team: team, seed: seed) : nil
        return .uncached([
            "sub": person.subject(team: team, seed: seed), "email": relay,
            "is_private_email": relay == nil ? nil : true,
        ])
    }

    // MARK: Common to all of them

    private func form(of request: Request) async throws -> EndpointForm {
        guard (request.uri.query ?? "").isEmpty else {
            throw EndpointRefusal.apple(.invalidRequest, "parameters belong into the body")
        }
        let form = try await EndpointForm(request)
        guard form.isFullyEncoded else {
            throw EndpointRefusal.apple(.invalidClient, "a reserved character is not percent-encoded")
        }
        return form
    }

    private func formWithCredentials(_ request: Request) async throws -> EndpointForm {
        let form = try await form(of: request)
        guard request.headers[.authorization] == nil else {
            throw EndpointRefusal.apple(.invalidClient, "credentials belong into the body")
        }
        return form
    }

    private func allow(_ names: [String], in form: EndpointForm) throws(EndpointRefusal) {
        for name in form.names where !names.contains(name) {
            throw .apple(.invalidRequest, "\(name) is not supported")
        }
    }

    private func client(
        _ form: EndpointForm, forMigration: Bool = false, at now: Int64
    ) throws -> (id: String, team: String) {
        let clientID = try form.required("client_id")
        let secret = try form.required("client_secret")
        let teams = accounts.registry.teams(of: clientID, forMigration: forMigration, at: now)
        return (clientID, try AppleClientSecret.team(of: secret, clientID: clientID, teams: teams, at: now))
    }
}
