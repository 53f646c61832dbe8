import Accounts
import Administration
import OAuthServer
import SignIn
import TestSupport

/// The app that people sign in to in a browser, and the client of the OAuth server that they link.
enum WalkClient {
    static let issuer = "https://auth.example.com"
    private static let appURI = "https://lamp.example.com/signed-in"
    static let webURI = "https://lamps.example.com/linked"
    static let flipURI = GoogleLinking.flipURIs[0]
    static let redirectURIs = [flipURI, webURI].compactMap(OAuthRedirectURI.init(registering:))

    static var browsers: WebSignIn.Configuration {
        WebSignIn.Configuration(
            issuer: issuer, publicURL: issuer,
            apps: [
                WebApp(id: "lamp", name: "Lamp", redirectURIs: [appURI].compactMap(AppRedirectURI.init(registering:)))
            ], apple: nil, google: .init(clientID: ProviderClientID(SignInFixture.googleClient)), offersEmailCode: true)
    }

    /// The app's request.
    static var query: AuthorizeQuery {
        AuthorizeQuery(
            app: ["lamp"], redirectURI: [appURI], codeChallenge: [WebFixture.challenge],
            codeChallengeMethod: ["S256"], state: [WebFixture.state])
    }

    /// The exchange of the code that the app gets.
    static func exchange(_ code: String, at web: WebSignIn, by call: Call) async throws -> SignInAnswer {
        try await web.exchange(code: code, codeVerifier: WebFixture.verifier, redirectURI: appURI, by: call)
    }

    /// A parameter of a URI whose values need no percent-decoding.
    static func parameter(_ name: String, of uri: String) -> String? {
        uri.split(whereSeparator: { $0 == "?" || $0 == "&" }).first { $0.hasPrefix("\(name)=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }
}

/// The operations of people in a browser, and of a client that they link to their account.
extension RandomWalker {
    /// Signs in to an app in a browser, with Google or by a password; the app exchanges the code at once.
    mutating func signInInBrowser() async throws {
        guard let web = world.service.web else { throw Idle() }
        let start = world.clock.now()
        let browser = try BrowserSecret.fresh()
        guard case .opened(let flow) = try await web.authorize(WalkClient.query, browser: browser, by: call)
        else { throw Unanswered() }
        let reference = FlowReference(id: flow.id, browser: browser)
        let isByProvider = chance(2, of: 3)
        let step: WebStep
        if isByProvider {
            let subject = try anyPerson().subject(.google, Int.random(in: 1...2, using: &random))
            let url = try await web.start(.google, in: reference, by: call)
            guard let state = WalkClient.parameter("state", of: url), let nonce = WalkClient.parameter("nonce", of: url)
            else { throw Unanswered() }
            let answer = GoogleAnswer(
                state: state, code: world.providers.code(.google, subject, nonce: nonce), issuer: nil, error: nil)
            step = try await web.finishGoogle(answer, browser: browser, by: call)
        } else {
            step = try await web.password(
                email: try anyAddress(), password: try one(of: WalkPerson.passwords), in: reference, by: call)
        }
        guard case .returned(let answer) = step else { throw Unanswered() }
        guard let code = WalkClient.parameter("code", of: answer.uri) else {
            // The app doesn't learn why: the provider's token has expired while time passed.
            guard answer.error == .serverError, world.clock.now() != start else { throw Unanswered() }
            throw SignInFailure.webFlowExpired
        }
        note(try await WalkClient.exchange(code, at: web, by: call), with: isByProvider ? .google : nil)
    }

    /// Links the client to the account of a session, by App Flip or in a browser, and redeems the code.
    mutating func linkClient() async throws {
        let isFlip = chance(1, of: 2)
        let code = isFlip ? try await codeOfFlip(try anySession()) : try await codeOfConsent()
        let uri = isFlip ? WalkClient.flipURI : WalkClient.webURI
        guard
            case .tokens(let tokens) = try await world.oauth.token(
                TokenRequest(["grant_type": "authorization_code", "code": code, "redirect_uri": uri]),
                of: world.oauthClient.record.client, by: call), let refreshToken = tokens.refreshToken
        else { throw Unanswered() }
        world.memory.remember(clientToken: refreshToken)
    }

    private func codeOfFlip(_ session: WalkSession) async throws -> String {
        let request = OAuthServer.FlipRequest(
            clientID: world.oauthClient.record.client.id.text, redirectURI: WalkClient.flipURI, scope: "profile",
            isConsented: true)
        return try await world.oauth.flip(request, accessToken: session.bearer, by: call).code
    }

    private mutating func codeOfConsent() async throws -> String {
        let session = try await liveSession()
        let browser = try BrowserSecret.fresh()
        let parameters = [
            "client_id": world.oauthClient.record.client.id.text, "redirect_uri": WalkClient.webURI, "state": "s",
            "response_type": "code", "scope": "profile",
        ]
        let query = OAuthQuery(isMalformed: false) { parameters[$0].map { [$0] } ?? [] }
        guard case .opened(let flow) = try await world.oauth.authorize(query, browser: browser, by: call) else {
            throw Unanswered()
        }
        let decided = try await world.oauth.decide(
            .allow(session.accountID), in: FlowReference(id: flow.id, browser: browser), session: session, by: call)
        // Where the session has ended meanwhile there is no code.
        guard case .redirect(let uri) = decided, let code = WalkClient.parameter("code", of: uri) else {
            throw SignInFailure.invalidSession
        }
        return code
    }

    mutating func refreshAsClient() async throws {
        let token = try one(of: world.memory.read(\.clientTokens))
        do {
            _ = try await world.oauth.token(
                TokenRequest(["grant_type": "refresh_token", "refresh_token": token]),
                of: world.oauthClient.record.client, by: call)
        } catch OAuthFailure.invalidGrant {
            world.memory.change { $0.clientTokens.removeAll { $0 == token } }
            throw OAuthFailure.invalidGrant
        }
    }

    /// An answer that no step leads to.
    private struct Unanswered: Error {}
}
