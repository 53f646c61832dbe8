import Curl
import JSON
import TestSupport
import Testing

/// Google's part in account linking: what passes and what fails.
@Suite(.fixture(Sandbox.self)) struct LinkingTests {
    private static let project = "lamp-linking"

    private var sandbox: Sandbox { .current }
    /// The service that the sandbox links with.
    private let service: LinkedService

    init() async throws {
        let sandbox = Sandbox.current
        service = try LinkedService(
            redirectURI: sandbox.linkingRedirectURI(project: Self.project), keys: try await sandbox.keySet(.google))
        try await sandbox.addGooglePerson("kim", #"{"email":"kim@gmail.com"}"#)
    }

    private func configure(
        _ fault: LinkedService.Fault? = nil, basicAuth: Bool = false, pkce: Bool = false
    ) async throws {
        service.begin(fault)
        try await sandbox.configureLinking(
            server: service.url, clientID: LinkedService.clientID, clientSecret: LinkedService.secret,
            project: Self.project, scopes: ["profile", "email"], audience: LinkedService.audience,
            basicAuth: basicAuth, pkce: pkce)
    }

    /// A person's browser at the redirect URI.
    private func bring(_ url: String) async throws -> FetchResponse {
        try await sandbox.get(String(url.dropFirst(sandbox.url.count)))
    }

    private func link() async throws {
        let answer = try await bring(service.allow(try await sandbox.beginBrowserLink()))
        #expect(answer.status == 303)
        #expect(answer.headers.first("Location") == sandbox.url + "/google/link")
    }

    @Test(arguments: [(false, false), (true, true)])
    func `a service that does all as it should passes every check`(basicAuth: Bool, pkce: Bool) async throws {
        try await configure(basicAuth: basicAuth, pkce: pkce)
        #expect(try await sandbox.checkLinkingEndpoints().all("passed").count == 12)
        let refusal = service.refuse(try await sandbox.beginBrowserLink())
        #expect(try await bring(refusal).status == 303)
        try await link()
        #expect(try await sandbox.linkingReport().subject == "u-1")
        #expect(try await sandbox.unlink().isLinked == false)
        _ = try await sandbox.answerFlip(service.refuse(try await sandbox.beginFlip()))
        let flipped = service.allow(try await sandbox.beginFlip())
        #expect(try await sandbox.answerFlip(flipped).isLinked)
        _ = try await sandbox.unlink()
        #expect(try await sandbox.linkStreamlined("kim").isLinked == false)
        #expect(try await sandbox.linkStreamlined("kim", create: true).isLinked)
        #expect(try await sandbox.linkStreamlined("kim").isLinked)
        let report = try await sandbox.unlink()
        #expect(report.all("failed") == [])
        #expect(report.all("open") == [])
    }

    @Test func `a fault that shows without a person fails its check alone`() async throws {
        let faults: [(LinkedService.Fault, String)] = [
            (.redirectsUnknownClients, "unknown-client"), (.redirectsToUnknownURIs, "unknown-redirect-uri"),
            (.losesState, "unsupported-response-type"), (.repeatsForms, "authorization-page"),
            (.framedPage, "authorization-page"), (.takesAnySecret, "client-secret"),
            (.failsOnUnknownCodes, "unknown-code"), (.refusesRefreshAsClient, "invalid-refresh-token"),
            (.noChallenge, "unknown-access-token"), (.refusesUnknownTokens, "unknown-revocation"),
            (.flipPageRedirects, "flip-page"), (.associationIsText, "apple-association"),
            (.associationHasCookie, "android-association"),
        ]
        for (fault, name) in faults {
            try await configure(fault)
            let report = try await sandbox.checkLinkingEndpoints()
            #expect(report.all("failed").map(\.name) == [name], "\(fault)")
        }
    }

    @Test func `a fault of the tokens fails its check alone`() async throws {
        let faults: [(LinkedService.Fault, String)] = [
            (.otherTokenType, "token-answer"), (.lifetimeIsText, "token-lifetime"),
            (.answersAreStored, "token-not-stored"), (.accessTokenIsJWT, "opaque-access-token"),
            (.noRefreshToken, "refresh-token"), (.noEmail, "userinfo"), (.sameAccessToken, "new-access-token"),
            (.endsEarlierTokens, "earlier-access-token"), (.rotates, "kept-refresh-token"),
        ]
        for (fault, name) in faults {
            try await configure(fault)
            try await link()
            let report = try await sandbox.linkingReport()
            #expect(report.all("failed").map(\.name) == [name], "\(fault)")
            #expect(report.isLinked == (fault != .otherTokenType))
        }
        for (fault, name) in [(LinkedService.Fault.revokesNothing, "revocation"), (.redeemsTwice, "code-once")] {
            try await configure(fault)
            try await link()
            #expect(try await sandbox.linkingReport().all("failed") == [])
            #expect(try await sandbox.unlink().all("failed").map(\.name) == [name], "\(fault)")
        }
    }

    @Test func `a fault of streamlined linking fails its check alone`() async throws {
        let faults: [(LinkedService.Fault, String)] = [
            (.noLoginHint, "get"), (.takesAnyAudience, "assertion-audience"), (.takesAnyIssuer, "assertion-issuer"),
            (.takesExpired, "assertion-expired"), (.takesForged, "assertion-forged"),
            (.takesUnsigned, "assertion-unsigned"), (.takesAnyIntent, "unknown-intent"),
        ]
        for (fault, name) in faults {
            try await configure(fault)
            #expect(try await sandbox.linkStreamlined("kim").all("failed").map(\.name) == [name], "\(fault)")
        }
        try await configure(.createsTwice)
        #expect(try await sandbox.linkStreamlined("kim", create: true).all("failed") == [])
        #expect(try await sandbox.linkStreamlined("kim").all("failed").map(\.name) == ["create"])
        // What can't be read is neither found nor not.
        try await configure(.foundIsBoolean)
        #expect(try await sandbox.linkStreamlined("kim").result("streamlined", "check") == "failed")
    }

    // MARK: What comes back

    @Test func `an answer whose state was not sent, or was sent before, is not redeemed`() async throws {
        try await configure()
        let answer = service.allow(try await sandbox.beginBrowserLink())
        let start = answer.prefix { $0 != "?" }
        for foreign in [
            "\(start)?code=c&state=other", "\(start)?code=c", "\(answer)&state=other", String(start),
            answer.replacing("%2B", with: "+"), "\(start)?code=%ZZ&state=a",
        ] {
            let refused = try await bring(foreign)
            #expect(refused.status == 400, "\(foreign)")
            let body = try JSONValue(parsing: refused.body)
            #expect(body["sendPostBody"]?.bool == false)
            #expect(body["errorMessage"]?.string?.contains("state") == true || foreign.contains("%ZZ"))
            #expect(try await sandbox.linkingReport().result("browser", "state") == "failed")
        }
        #expect(!service.paths.contains("POST /oauth/token"))
        #expect(try await bring(answer).status == 303)
        #expect(try await sandbox.linkingReport().all("failed") == [])
        #expect(try await bring(answer).status == 400)
        let other = answer.replacing("/r/" + Self.project, with: "/r/other")
        #expect(try await bring(other).status == 400)
    }

    @Test func `an answer has one code or one error, and errors are those that Google knows`() async throws {
        try await configure()
        for (extra, status) in [("&code=another", 400), ("&error=access_denied", 303)] {
            let answer = service.allow(try await sandbox.beginBrowserLink())
            #expect(try await bring(answer + extra).status == status)
            #expect(try await sandbox.linkingReport().result("browser", "code") == "failed")
        }
        #expect(!service.paths.contains("POST /oauth/token"))
        let unknown = service.refuse(try await sandbox.beginBrowserLink(), with: "cancelled")
        #expect(try await bring(unknown).status == 303)
        #expect(try await sandbox.linkingReport().result("browser", "refusal") == "failed")

        for error in ["access_denied", "cancelled", "invalid_request", "unrecoverable", "user_not_authorized"] {
            let report = try await sandbox.answerFlip(service.refuse(try await sandbox.beginFlip(), with: error))
            #expect(
                report.result("flip", "refusal") == (error == "user_not_authorized" ? "failed" : "passed"),
                "\(error)")
        }
    }

    @Test func `a flip's link is written plainly, in Google's order, and its answer compared byte for byte`()
        async throws
    {
        try await configure()
        let uri = "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"
        let link = try await sandbox.beginFlip()
        #expect(link.hasPrefix("\(service.url)/app-flip?client_id=linking-client&scope=profile+email&state="))
        #expect(link.hasSuffix("+/=&redirect_uri=" + uri))
        let answer = service.allow(link)
        for near in [
            answer.replacing("com.google.OPA", with: "com.google.Opa"), answer.replacing("OPA?", with: "OPA/?"),
            uri, uri + "?code=c",
        ] {
            let report = try await sandbox.answerFlip(near)
            #expect(report.result("flip", "state") == "failed", "\(near)")
            #expect(
                report.result("flip", "redirect-uri")
                    == (near.hasPrefix(uri) && !near.contains("OPA/") ? "passed" : "failed"))
        }
        #expect(!service.paths.contains("POST /oauth/token"))
        // A plus sign that an app leaves as it is comes through in a URL.
        #expect(try await sandbox.answerFlip(answer.replacing("%2B", with: "+")).isLinked)
    }

    @Test func `a service that is away fails what was asked of it`() async throws {
        try await configure()
        try await sandbox.configureLinking(
            server: "http://127.0.0.1:\(try FreePort.choose(1)[0])", clientID: "c", clientSecret: "s", project: "p")
        let report = try await sandbox.checkLinkingEndpoints()
        #expect(report.all("failed").count == 12)
        #expect(report.all("failed").allSatisfy { $0.detail?.contains("no answer: connect") == true })
    }
}
