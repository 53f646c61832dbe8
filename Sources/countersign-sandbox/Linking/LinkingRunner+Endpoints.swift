import Curl
import Foundation
import JSON
import OpenSSL
import Primitives

/// What Google, or anybody, sees of the service without a person.
extension LinkingRunner {
    /// The most redirects on the way to the person's page.
    private static let maximumRedirects = 5

    func checkEndpoints() async throws {
        let client = try client()
        let unknown = Base64URL.encode(try SecureRandom.bytes(32))
        var findings = LinkingFindings(way: .endpoints)
        await checkAuthorization(client, unknown, &findings)
        let secret = await client.token([("grant_type", "refresh_token"), ("refresh_token", unknown)], secret: unknown)
        findings.note(.clientSecret, secret.isRefused(401, "invalid_client"), secret.summary)
        let redemption = GoogleLinking.Redemption(
            code: unknown, redirectURI: client.settings.redirectURI, verifier: nil)
        let code = await client.token(redemption.fields)
        findings.note(.unknownCode, code.isRefused(400, "invalid_grant"), code.summary)
        let refresh = await client.refresh(unknown)
        findings.note(.invalidRefreshToken, refresh.isRefused(400, "invalid_grant"), refresh.summary)
        let info = await client.userInfo(unknown)
        let challenge = info.headers.first("WWW-Authenticate")
        findings.note(
            .unknownAccessToken, info.status == 401 && challenge?.lowercased().hasPrefix("bearer") == true,
            "\(info.summary), \(challenge ?? "no WWW-Authenticate")")
        let revocation = await client.revoke(unknown, hint: "refresh_token")
        findings.note(.unknownRevocation, revocation.status == 200, revocation.summary)
        await checkFlip(client, &findings)
        linking.add(findings)
    }

    private func checkAuthorization(
        _ client: LinkingClient, _ unknown: String, _ findings: inout LinkingFindings
    ) async {
        let settings = client.settings
        let state = unknown + "+/=&%41"
        let unknownClient = await client.get(Self.url(settings, state: state, clientID: "unknown-" + unknown))
        findings.note(.unknownClient, unknownClient.isPage(400), unknownClient.summary)
        let elsewhere = await client.get(Self.url(settings, state: state, redirectURI: settings.redirectURI + "/"))
        findings.note(.unknownRedirectURI, elsewhere.isPage(400), elsewhere.summary)

        let implicit = await client.get(Self.url(settings, state: state, responseType: "token"))
        let location = implicit.headers.first("Location") ?? ""
        let parts = location.split(separator: "?", maxSplits: 1)
        let values = LinkingValues(fields: parts.count == 2 ? FormFields(Array(parts[1].utf8))?.fields ?? [] : [])
        let isRefused =
            parts.first.map(String.init) == settings.redirectURI
            && values.only("error") == "unsupported_response_type" && values.only("state") == state
            && values.all("code").isEmpty
        findings.note(
            .unsupportedResponseType, isRefused && [302, 303].contains(implicit.status),
            "\(implicit.summary), error \(values.only("error") ?? "none")")
        await checkPage(
            client, Self.url(settings, state: state, verifier: settings.usesPKCE ? unknown : nil), &findings)
    }

    /// Follows the way to the first page as a browser does, with its cookies, within the service.
    private func checkPage(_ client: LinkingClient, _ url: String, _ findings: inout LinkingFindings) async {
        var url = url
        var cookies: [String: String] = [:]
        for _ in 0...Self.maximumRedirects {
            let cookie = cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            let answer = await client.get(url, headers: cookie.isEmpty ? [] : [("Cookie", cookie)])
            for field in answer.headers.all("Set-Cookie") {
                let pair = field.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
                if pair.count == 2 { cookies[pair[0]] = pair[1] }
            }
            guard let location = answer.headers.first("Location"), (300..<400).contains(answer.status) else {
                let policy = answer.headers.all("Content-Security-Policy").joined(separator: ";")
                let isFramed =
                    !policy.contains("frame-ancestors 'none'") || answer.headers.first("X-Frame-Options") == nil
                return findings.note(
                    .authorizationPage, answer.isPage(200) && !isFramed && !answer.isStored,
                    "\(answer.summary)\(isFramed ? ", can be framed" : "")\(answer.isStored ? ", can be stored" : "")")
            }
            guard answer.status != 307, answer.status != 308,
                let next = URL(string: location, relativeTo: URL(string: url)),
                next.absoluteString.hasPrefix(client.settings.server + "/")
            else { return findings.note(.authorizationPage, false, answer.summary) }
            url = next.absoluteString
        }
        findings.note(.authorizationPage, false, "more than \(Self.maximumRedirects) redirects")
    }

    private func checkFlip(_ client: LinkingClient, _ findings: inout LinkingFindings) async {
        let settings = client.settings
        let link = settings.flipLink
        let page = await client.get(Self.flipURL(settings, state: "a+/="))
        findings.note(.flipPage, page.isPage(200), page.summary)
        let origin = URL(string: link).flatMap { URL(string: "/", relativeTo: $0)?.absoluteString } ?? link + "/"
        let path = URL(string: link)?.path ?? ""
        let apple = await client.get(origin + ".well-known/apple-app-site-association")
        let android = await client.get(origin + ".well-known/assetlinks.json")
        for (check, answer) in [(LinkingCheck.appleAssociation, apple), (.androidAssociation, android)] {
            guard answer.status != 404 else {
                findings.leaveOpen(check, "404: no app is configured, or the file is elsewhere")
                continue
            }
            let isPlain = answer.status == 200 && answer.headers.all("Set-Cookie").isEmpty
            let isAssociated =
                check == .androidAssociation
                ? answer.json?.elements != nil
                : answer.associatedPaths.contains(path)
            findings.note(check, isPlain && answer.mediaType(is: "application/json") && isAssociated, answer.summary)
        }
    }
}

extension LinkingAnswer {
    /// Whether this is a page that leads nowhere.
    fileprivate func isPage(_ status: Int) -> Bool {
        self.status == status && headers.first("Location") == nil && mediaType(is: "text/html")
    }

    /// The paths of `apple-app-site-association`, in either of its forms.
    fileprivate var associatedPaths: [String] {
        let details = json?["applinks"]?["details"]?.elements ?? []
        return details.flatMap { detail in
            (detail["components"]?.elements?.compactMap { $0["/"]?.string } ?? [])
                + (detail["paths"]?.elements?.compactMap(\.string) ?? [])
        }
    }
}
