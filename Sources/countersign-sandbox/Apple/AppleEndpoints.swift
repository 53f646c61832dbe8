import HTTPTypes
import Hummingbird

/// Apple's endpoints with client authentication: `/auth/token`, `/auth/revoke` and `/auth/usermigrationinfo`.
///
/// They refuse what Apple documents as refused, and refuse in doubt: a client that passes here makes none of the
/// mistakes that Apple's one-word errors do not distinguish. The history distinguishes them.
struct AppleEndpoints: Sendable {
    let accounts: AppleAccounts
    let mint: TokenMint
    let issuer: String
    let clock: SandboxClock

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("auth/token") { request, _ in try await token(request) }
        group.post("auth/revoke") { request, _ in try await revoke(request) }
        group.post("auth/usermigrationinfo") { request, _ in try await userMigrationInfo(request) }
    }

    // MARK: /auth/token

    private func token(_ request: Request) async throws -> Response {
        let form = try await form(of: request)
        guard request.headers[.authorization] == nil else {
            throw EndpointRefusal.apple(.invalidClient, "credentials belong into the body")
        }
        switch try required("grant_type", form) {
        case "authorization_code":
            try allow(["grant_type", "client_id", "client_secret", "code", "redirect_uri"], in: form)
            return try await exchange(form)
        case "refresh_token":
            try allow(["grant_type", "client_id", "client_secret", "refresh_token"], in: form)
            return try refresh(form)
        case "client_credentials":
            try allow(["grant_type", "client_id", "client_secret", "scope"], in: form)
            return try issueMigrationToken(form)
        default:
            throw EndpointRefusal.apple(.unsupportedGrantType, "grant_type is none of Apple's")
        }
    }

    private func exchange(_ form: EndpointForm) async throws -> Response {
        let now = clock.now
        let code = try required("code", form)
        let (clientID, _) = try client(form, at: now)
        let exchanged = try accounts.exchange(code, clientID: clientID, redirectURI: form["redirect_uri"], at: now)
        let identity = exchanged.identity
        let plan = identity.exchange
        let claims = identity.claims(
            issuer: issuer, audience: .string(clientID), subject: exchanged.subject,
            authenticatedAt: identity.authorizedAt,
            period: plan.overrides.period(at: now, lifetime: AppleAuthorizer.lifetime),
            hash: ("at_hash", of: exchanged.accessToken), seed: accounts.seed)
        var answer = Self.answer(accessToken: exchanged.accessToken)
        answer.set("refresh_token", exchanged.refreshToken)
        if !plan.omitsIDToken { answer.set("id_token", try await mint.mint(claims, overrides: plan.overrides)) }
        plan.apply(to: &answer)
        return .tokens(answer)
    }

    /// Answers a refresh: without an ID token, as Apple has been seen to do, and never with a refresh token.
    private func refresh(_ form: EndpointForm) throws(EndpointRefusal) -> Response {
        let now = clock.now
        let refreshToken = try required("refresh_token", form)
        let (clientID, _) = try client(form, at: now)
        return .tokens(Self.answer(accessToken: try accounts.refresh(refreshToken, clientID: clientID, at: now)))
    }

    private func issueMigrationToken(_ form: EndpointForm) throws(EndpointRefusal) -> Response {
        let now = clock.now
        let scope = try required("scope", form)
        let (clientID, team) = try client(form, forMigration: true, at: now)
        guard scope == "user.migration" else { throw .apple(.invalidScope, "scope is not user.migration") }
        let token = accounts.issueMigrationToken(clientID: clientID, team: team, at: now)
        return .tokens(Self.answer(accessToken: token))
    }

    private static func answer(accessToken: String) -> ClaimSet {
        var answer = ClaimSet()
        answer.set("access_token", accessToken)
        answer.set("token_type", "Bearer")
        answer.set("expires_in", .integer(AppleAccounts.accessLifetime))
        return answer
    }

    // MARK: /auth/revoke

    private func revoke(_ request: Request) async throws -> Response {
        let form = try await form(of: request)
        guard request.headers[.authorization] == nil else {
            throw EndpointRefusal.apple(.invalidClient, "credentials belong into the body")
        }
        try allow(["client_id", "client_secret", "token", "token_type_hint"], in: form)
        let now = clock.now
        let token = try required("token", form)
        let (clientID, _) = try client(form, at: now)
        let hint = form["token_type_hint"]
        guard hint == nil || hint == "refresh_token" || hint == "access_token" else {
            throw EndpointRefusal.apple(.invalidRequest, "token_type_hint is no type of token")
        }
        try accounts.revoke(token, hint: hint, clientID: clientID, at: now)
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
            accounts.accepts(migrationToken: String(bearer), clientID: clientID, team: team, at: now)
        else { throw EndpointRefusal.apple(.invalidClient, "no live user.migration token of this client and team") }

        var answer = ClaimSet()
        if isSender {
            let transferSubject = try accounts.transferSubject(
                of: required("sub", form), clientID: clientID, from: team, to: required("target", form), at: now)
            answer.set("transfer_sub", transferSubject)
        } else {
            let person = try accounts.transferred(
                required("transfer_sub", form), clientID: clientID, to: team, at: now)
            answer.set("sub", person.subject)
            answer.set("email", person.relay)
            if person.relay != nil { answer.set("is_private_email", .bool(true)) }
        }
        return .tokens(answer)
    }

    // MARK: Common to all of them

    private func form(of request: Request) async throws -> EndpointForm {
        guard (request.uri.query ?? "").isEmpty else {
            throw EndpointRefusal.apple(.invalidRequest, "parameters belong into the body")
        }
        let form: EndpointForm
        do {
            form = try await EndpointForm(request)
        } catch let fault as EndpointForm.Fault {
            switch fault {
            case .contentType:
                throw EndpointRefusal.apple(.invalidRequest, "not application/x-www-form-urlencoded")
            case .encoding:
                throw EndpointRefusal.apple(.invalidClient, "the form is not percent-encoded UTF-8")
            case .repeated(let name):
                throw EndpointRefusal.apple(.invalidRequest, "\(name) is there twice")
            }
        }
        guard form.isFullyEncoded else {
            throw EndpointRefusal.apple(.invalidClient, "a reserved character is not percent-encoded")
        }
        return form
    }

    private func required(_ name: String, _ form: EndpointForm) throws(EndpointRefusal) -> String {
        guard let value = form[name], !value.isEmpty else { throw .apple(.invalidRequest, "\(name) is missing") }
        return value
    }

    private func allow(_ names: [String], in form: EndpointForm) throws(EndpointRefusal) {
        for name in form.names where !names.contains(name) {
            throw .apple(.invalidRequest, "\(name) is not supported")
        }
    }

    private func client(
        _ form: EndpointForm, forMigration: Bool = false, at now: Int64
    ) throws(EndpointRefusal) -> (id: String, team: String) {
        let clientID = try required("client_id", form)
        let secret = try required("client_secret", form)
        let teams = accounts.teams(of: clientID, forMigration: forMigration, at: now)
        return (clientID, try AppleClientSecret.team(of: secret, clientID: clientID, teams: teams, at: now))
    }
}
