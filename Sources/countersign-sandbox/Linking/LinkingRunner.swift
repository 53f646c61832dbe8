import Curl
import JSON
import OpenSSL
import Primitives

/// Google's part in account linking: it begins a link, takes the answer, redeems the code, and checks the service by it.
struct LinkingRunner: Sendable {
    let linking: GoogleLinking
    let google: Provider<Google>
    let fetcher: any Fetcher

    func client() throws(ControlRefusal) -> LinkingClient {
        LinkingClient(settings: try linking.settings(), fetcher: fetcher)
    }

    // MARK: The browser

    /// Begins a link in a person's browser.
    ///
    /// - Returns: where to send the browser.
    func beginBrowser() throws -> String {
        let settings = try linking.settings()
        // Characters that only come back as they were when they are encoded and decoded once each.
        let state = Base64URL.encode(try SecureRandom.bytes(18)) + "+/=&%41"
        let verifier = settings.usesPKCE ? Base64URL.encode(try SecureRandom.bytes(32)) : nil
        let url = Self.url(settings, state: state, verifier: verifier)
        linking.begin(.init(way: .browser, state: state, url: url, verifier: verifier))
        return url
    }

    /// The URL of an authorization request, its parameters in Google's order.
    static func url(
        _ settings: LinkingSettings, state: String, verifier: String? = nil, clientID: String? = nil,
        redirectURI: String? = nil, responseType: String = "code"
    ) -> String {
        var parameters: [(String, String?)] = [
            ("client_id", clientID ?? settings.clientID), ("redirect_uri", redirectURI ?? settings.redirectURI),
            ("state", state), ("response_type", responseType), ("scope", settings.scope),
            ("user_locale", settings.locale),
        ]
        if let verifier {
            let challenge = Base64URL.encode(SHA256.hash(Array(verifier.utf8)))
            parameters += [("code_challenge", challenge), ("code_challenge_method", "S256")]
        }
        let query = parameters.compactMap { name, value in
            value.map { "\(name)=\(PercentEncoding.encode($0))" }
        }
        return "\(settings.server)/oauth/authorize?\(query.joined(separator: "&"))"
    }

    /// Takes what the browser has brought to the redirect URI.
    ///
    /// - Parameter query: as it came.
    /// - Returns: what is wrong with it, in a sentence; nil for a code that was redeemed and for a refusal.
    func takeBrowser(_ query: String) async throws(ControlRefusal) -> String? {
        let client = try client()
        guard let fields = FormFields(Array(query.utf8))?.fields else {
            return fail(.browser, .state, "the query is not percent-encoded UTF-8")
        }
        let values = LinkingValues(fields: fields)
        guard let state = values.only("state"), let attempt = linking.end(.browser, state: state) else {
            return fail(.browser, .state, "no request that waits has the state of this answer")
        }
        var findings = LinkingFindings(way: .browser)
        findings.note(.state, true, "\(state.utf8.count) bytes")
        guard let code = Self.code(values, refusals: ["access_denied"], &findings) else {
            linking.add(findings)
            return values.only("error") == nil ? "There is neither one code nor one error." : nil
        }
        linking.add(findings)
        await redeem(
            .init(code: code, redirectURI: client.settings.redirectURI, verifier: attempt.verifier), .browser, client)
        return nil
    }

    /// Checks that an answer has a code or an error.
    ///
    /// - Returns: the code.
    static func code(_ values: LinkingValues, refusals: [String], _ findings: inout LinkingFindings) -> String? {
        switch (values.only("code"), values.all("error").count) {
        case (let code?, 0):
            findings.note(.code, true, "\(code.utf8.count) bytes")
            return code
        case (nil, 1):
            let error = values.only("error") ?? ""
            findings.note(.refusal, values.all("code").isEmpty && refusals.contains(error), "error \(error)")
            return nil
        default:
            findings.note(.code, false, "\(values.all("code").count) codes, \(values.all("error").count) errors")
            return nil
        }
    }

    private func fail(_ way: LinkingWay, _ check: LinkingCheck, _ detail: String) -> String {
        var findings = LinkingFindings(way: way)
        findings.note(check, false, detail)
        linking.add(findings)
        return "The answer does not suit: \(detail)."
    }

    // MARK: The tokens

    /// Redeems a code and checks the tokens that it gives.
    func redeem(_ redemption: GoogleLinking.Redemption, _ way: LinkingWay, _ client: LinkingClient) async {
        await take(await client.token(redemption.fields), redemption, way, client)
    }

    /// Checks a token answer and what its tokens are good for, and keeps them as the link.
    func take(
        _ answer: LinkingAnswer, _ redemption: GoogleLinking.Redemption?, _ way: LinkingWay, _ client: LinkingClient
    ) async {
        var findings = LinkingFindings(way: way)
        defer { linking.add(findings) }
        let isBearer = answer.text("token_type")?.lowercased() == "bearer"
        let isAnswer = answer.status == 200 && isBearer && answer.mediaType(is: "application/json")
        guard isAnswer, let access = answer.text("access_token") else {
            return findings.note(.tokenAnswer, false, answer.summary)
        }
        findings.note(.tokenAnswer, true, answer.summary)
        let lifetime = answer.json?["expires_in"]?.integer
        findings.note(.tokenLifetime, (lifetime ?? 0) > 0, lifetime.map { "\($0) s" } ?? "expires_in is not a number")
        findings.note(.tokenNotStored, !answer.isStored, answer.headers.first("Cache-Control") ?? "no Cache-Control")
        findings.note(.opaqueAccessToken, !Self.isJWT(access), "\(access.utf8.count) bytes")
        let info = await client.userInfo(access)
        findings.note(.userInfo, Self.suits(info, client.settings.scopes), Self.summary(of: info))
        let refreshToken = answer.text("refresh_token")
        findings.note(.refreshToken, refreshToken != nil, refreshToken == nil ? "there is none" : "there is one")
        var accessTokens = [access]
        if let refreshToken {
            let first = await client.refresh(refreshToken)
            let another = first.status == 200 ? first.text("access_token") : nil
            findings.note(
                .newAccessToken, another != nil && another != access,
                another == access ? "the same access token again" : first.summary)
            let earlier = await client.userInfo(access)
            findings.note(.earlierAccessToken, earlier.status != 401 && earlier.status == info.status, earlier.summary)
            let second = await client.refresh(refreshToken)
            findings.note(.keptRefreshToken, second.status == 200, second.summary)
            accessTokens += [another, second.text("access_token")].compactMap(\.self)
        }
        linking.keep(
            .init(
                way: way, redemption: redemption, accessTokens: accessTokens, refreshToken: refreshToken,
                subject: info.text("sub")))
    }

    /// Ends the link as Google does when the person unlinks there.
    func unlink() async throws(ControlRefusal) {
        let client = try client()
        let link = try linking.takeLink()
        var findings = LinkingFindings(way: link.way)
        let hint = link.refreshToken == nil ? "access_token" : "refresh_token"
        let token = link.refreshToken ?? link.accessTokens.first ?? ""
        let revoked = await client.revoke(token, hint: hint)
        var summary = ["revocation \(revoked.summary)"]
        var isEnded = revoked.status == 200
        if let refreshToken = link.refreshToken {
            let refreshed = await client.refresh(refreshToken)
            isEnded = isEnded && refreshed.isRefused(400, "invalid_grant")
            summary.append("refresh \(refreshed.summary)")
        }
        for accessToken in link.accessTokens {
            let info = await client.userInfo(accessToken)
            isEnded = isEnded && info.status == 401
            summary.append("userinfo \(info.summary)")
        }
        findings.note(.revocation, isEnded, summary.joined(separator: "; "))
        if let redemption = link.redemption {
            let again = await client.token(redemption.fields)
            findings.note(.codeOnce, again.isRefused(400, "invalid_grant"), again.summary)
        }
        linking.add(findings)
    }

    private static func isJWT(_ token: String) -> Bool {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(String(parts[0])) else { return false }
        return (try? JSONValue(parsing: header))?.members != nil
    }

    /// Whether userinfo says who it is. Without `profile` and `email` it may say that this is too little.
    private static func suits(_ info: LinkingAnswer, _ scopes: [String]) -> Bool {
        if !scopes.isEmpty, !scopes.contains("profile"), !scopes.contains("email"), info.status == 403 { return true }
        return info.status == 200 && info.text("sub") != nil
            && (!scopes.contains("email") || info.text("email") != nil)
    }

    private static func summary(of info: LinkingAnswer) -> String {
        let names = info.json?.members?.map(\.name) ?? []
        return info.status == 200 ? "200, " + names.joined(separator: " ") : info.summary
    }
}

/// The parameters of an answer; one that comes twice has no value.
struct LinkingValues: Sendable {
    let fields: [(name: String, value: String)]

    func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// nil unless it is there once and not empty.
    func only(_ name: String) -> String? {
        let all = all(name)
        return all.count == 1 && all[0] != "" ? all[0] : nil
    }
}
