import Accounts
import JOSE
import Providers
import TestSupport
import Testing

/// Several Google projects: each code and refresh token belongs to the server client of one.
@Suite(.timeLimit(.minutes(5))) struct GoogleProjectTests {
    private typealias Project = GoogleTokenEndpoint.Configuration.Project

    private static let otherServer: ProviderClientID = "9876543210-web1example.apps.googleusercontent.com"
    private static let otherApp: ProviderClientID = "9876543210-ios1example.apps.googleusercontent.com"
    private static let other = Project(
        clientIDs: [otherServer, otherApp], serverClientID: otherServer, serverClientSecret: "GOCSPX-canary-other")
    private static let both = [EndpointFixture.googleProject, other]
    private static let now = Timestamp(seconds: referenceTime)

    /// Accepts the tokens of both projects.
    private static func rules() throws -> GoogleProvider {
        try GoogleFixture.provider { $0.clientIDs += [otherServer, otherApp] }
    }

    @Test(arguments: [0, 1])
    func `a code is sent as the server client that it belongs to, with that one's secret`(index: Int) async throws {
        let project = Self.both[index]
        let claims = EndpointFixture.claims(.google).with("aud", .string(project.serverClientID.text))
            .with("azp", .string(project.serverClientID.text))
        let answer = try EndpointFixture.answer(.google, claims)
        try await withEndpoint(.google, answering: .respond(body: answer.bytes)) { apps in
            let exchanged = try await apps.google(Self.rules(), projects: Self.both).exchange(
                AuthorizationCode(text: "4/0AbC", clientID: project.serverClientID), nonce: .proven,
                timeout: .seconds(50), at: Self.now)
            // One realm: the person is the same in both.
            #expect(exchanged.identity.key.realm == .main)
            #expect(exchanged.identity.key.subject.text == GoogleFixture.subject)
            #expect(
                try apps.form().lines == [
                    "client_id=\(project.serverClientID)", "client_secret=\(project.serverClientSecret)", "code=4/0AbC",
                    "grant_type=authorization_code", "redirect_uri=",
                ])
        }
    }

    @Test func `the ID token for a code must be for the code's own server client`() async throws {
        let claims = EndpointFixture.claims(.google).with("aud", .string(Self.otherServer.text))
            .with("azp", .string(Self.otherServer.text))
        let answer = try EndpointFixture.answer(.google, claims)
        try await withEndpoint(.google, answering: .respond(body: answer.bytes)) { apps in
            await #expect(throws: EndpointFixture.rejected(.audienceRejected, nil)) {
                try await apps.google(Self.rules(), projects: Self.both).exchange(
                    EndpointFixture.code(.google), nonce: .proven, timeout: .seconds(50), at: Self.now)
            }
        }
    }

    @Test(arguments: [0, 1])
    func `a refresh token is checked as the client that got it`(index: Int) async throws {
        let project = Self.both[index]
        try await withEndpoint(.google, answering: .respond(text: "{}")) { apps in
            try await apps.google(Self.rules(), projects: Self.both)
                .check("r", of: project.serverClientID, at: Self.now)
            #expect(
                try apps.form().lines == [
                    "client_id=\(project.serverClientID)", "client_secret=\(project.serverClientSecret)",
                    "grant_type=refresh_token", "refresh_token=r",
                ])
        }
    }

    @Test func `nothing of a client is sent that is no server client`() async throws {
        try await withEndpoint(.google, answering: .respond(text: "{}")) { apps in
            let endpoint = try apps.google(Self.rules(), projects: Self.both)
            for client in [Self.otherApp, GoogleFixture.party, "former-client"] {
                await #expect(throws: EndpointRefusal.notConfigured) {
                    try await endpoint.check("r", of: client, at: Self.now)
                }
                await #expect(throws: EndpointRefusal.notConfigured) {
                    try await endpoint.exchange(
                        AuthorizationCode(text: "4/0AbC", clientID: client), nonce: .proven, timeout: .seconds(50),
                        at: Self.now)
                }
            }
            #expect(apps.requests.isEmpty)
        }
    }

    @Test func `a refusal of the client names the one that was refused`() async throws {
        let answer = LoopbackServer.Step.respond(401, text: #"{"error":"invalid_client"}"#)
        try await withEndpoint(.google, answering: answer) { apps in
            let endpoint = try apps.google(Self.rules(), projects: Self.both)
            let refusal = EndpointRefusal.clientRejected(error: "invalid_client", keyID: Self.otherServer.text)
            await #expect(throws: refusal) { try await endpoint.check("r", of: Self.otherServer, at: Self.now) }
            await #expect(throws: refusal) { try await endpoint.revoke("r", of: Self.otherServer, at: Self.now) }
        }
    }

    @Test func `a client determines the project, and the project the server client`() async throws {
        try await withEndpoint(.google) { apps in
            let endpoint = try apps.google(Self.rules(), projects: Self.both)
            #expect(endpoint.serverClientIDs == [GoogleFixture.clientID, Self.otherServer])
            for (client, server) in [
                (GoogleFixture.clientID, GoogleFixture.clientID), (GoogleFixture.party, GoogleFixture.clientID),
                (Self.otherServer, Self.otherServer), (Self.otherApp, Self.otherServer), ("another", nil),
            ] as [(ProviderClientID, ProviderClientID?)] {
                #expect(endpoint.serverClientID(ofProjectOf: client) == server, "\(client)")
            }
        }
    }

    @Test func `an array of audiences may name clients of both projects, and none besides`() async throws {
        let rules = try Self.rules()
        let both = GoogleFixture.claims.with(
            "aud", [.string(Self.otherApp.text), .string(GoogleFixture.clientID.text)])
        let identity = try await rules.judge(both)
        #expect(identity.clientID == Self.otherApp)
        let more = GoogleFixture.claims.with("aud", [.string(Self.otherApp.text), "another"])
        await #expect(throws: CredentialRefusal(.audienceRejected)) { try await rules.judge(more) }
    }
}
