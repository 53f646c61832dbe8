import Accounts
import Providers
import SignIn
import TestSupport
import Testing

/// Apps of two Google projects at one service: each project's codes belong to its own server client.
@Suite(.fixture(LifeCycleFixture.self)) struct CodeProjectTests {
    var fixture: LifeCycleFixture { .current }

    /// An app, which is the audience of its tokens, and the server client of its project.
    struct App: Sendable {
        let id: ProviderClientID
        let server: ProviderClientID
        let secret: String
    }

    private static let apps = [
        App(
            id: "lamp-ios.apps.googleusercontent.com", server: ProviderClientID(LifeCycleFixture.serverClient),
            secret: LifeCycleFixture.googleSecret),
        App(
            id: "beta-ios.apps.googleusercontent.com", server: "beta-web.apps.googleusercontent.com",
            secret: "beta-secret"),
    ]

    /// A service that accepts the tokens of all apps.
    ///
    /// - Parameter projects: the apps whose projects have a server client.
    private func service(projects: [App] = apps) async throws -> SignInService {
        for app in projects { try await fixture.sandbox.registerGoogleClient(app.server.text, secret: app.secret) }
        var rules = fixture.google.configuration
        rules.clientIDs = Self.apps.flatMap { [$0.server, $0.id] }
        let google = GoogleProvider(configuration: rules, keys: fixture.google.keys)
        let endpoint = LifeCycleFixture.googleEndpoint(
            google, of: fixture.sandbox,
            projects: projects.map { app in
                .init(clientIDs: [app.server, app.id], serverClientID: app.server, serverClientSecret: app.secret)
            })
        let endpoints = TokenEndpoints(apple: fixture.endpoints.apple, google: endpoint)
        return fixture.service(google: google, endpoints: endpoints) { _ in }
    }

    private func consent(to app: App, token: Sandbox.TokenChanges = .init()) async throws -> Sandbox.GoogleCredential {
        try await fixture.sandbox.authorizeGoogle(
            "kim", clientID: app.id.text, token: token, serverClientID: app.server.text, forceConsent: true)
    }

    private func signIn(
        _ token: String, _ code: String, clientID: ProviderClientID? = nil, at service: SignInService
    ) async throws -> SignInAnswer {
        return try await service.providers.signIn(
            with: .google, .init(token: token, code: code, nonce: nil, clientID: clientID, fullName: nil),
            by: service.calls.begin(by: fixture.client))
    }

    /// The clients as which a code was sent.
    private func clients(of code: String) async throws -> [String?] {
        try await fixture.sandbox.history(path: LifeCycleFixture.tokenPath(.google))
            .filter { $0.field("code") == Sandbox.fingerprint(code) }.map { $0.field("client_id") }
    }

    @Test(arguments: apps)
    func `beside a token its audience chooses the client that the code is sent as`(app: App) async throws {
        let kim = try await consent(to: app)
        let answer = try await signIn(kim.idToken, kim.serverAuthCode, at: try await service())
        #expect(try await fixture.create(try answer.ticket).identity?.authorization == .active)
        #expect(try await clients(of: kim.serverAuthCode) == [app.server.text])
    }

    @Test(arguments: apps)
    func `beside a token that doesn't verify, the audience that it states says whose the code is`(
        app: App
    ) async throws {
        let service = try await self.service()
        for token in [Sandbox.TokenChanges(expired: true), .init(signature: .forged)] {
            let kim = try await consent(to: app, token: token)
            _ = try await signIn(kim.idToken, kim.serverAuthCode, at: service).ticket
            #expect(try await clients(of: kim.serverAuthCode) == [app.server.text])
        }
        let foreign = try await consent(to: app, token: .init(claims: #"{"aud":"another.apps.googleusercontent.com"}"#))
        let code = foreign.serverAuthCode
        try await expectFailure("clientIDRequired") { try await signIn(foreign.idToken, code, at: service) }
        try await expectFailure("malformed") { try await signIn("a.b.c", code, clientID: "another", at: service) }
        #expect(try await clients(of: code).isEmpty)
    }

    @Test func `a project without a server client has its codes left alone`() async throws {
        let service = try await self.service(projects: [Self.apps[0]])
        let kim = try await consent(to: Self.apps[1])
        let answer = try await signIn(kim.idToken, kim.serverAuthCode, at: service)
        #expect(try await fixture.create(try answer.ticket).identity?.authorization == Identity.Authorization.none)
        #expect(try await clients(of: kim.serverAuthCode).isEmpty)
    }
}
