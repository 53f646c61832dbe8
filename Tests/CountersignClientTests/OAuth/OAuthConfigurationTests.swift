import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct OAuthConfigurationTests {
    private static let members = [
        "issuer": #""https://idp.example""#, "authorization_endpoint": #""https://idp.example/authorize""#,
        "token_endpoint": #""https://idp.example/token""#, "jwks_uri": #""https://idp.example/keys""#,
        "response_types_supported": #"["code"]"#, "subject_types_supported": #"["public"]"#,
        "id_token_signing_alg_values_supported": #"["RS256"]"#, "later": "{}",
    ]

    private static func document(_ name: String = "later", _ value: String? = "{}") -> String {
        var members = members
        members[name] = value
        return "{\(members.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ","))}"
    }

    private static func discover(
        _ reply: ScriptedServer.Reply, issuer: String = "https://idp.example"
    ) async throws -> (OAuthConfiguration, [URL]) {
        let server = try ScriptedServer { _ in reply }
        let transport = DivertedTransport(server)
        let configuration = try await OAuthConfiguration.discover(
            issuer: OAuthFixture.url(issuer), transport: transport)
        #expect(server.requests.map(\.method) == ["GET"])
        return (configuration, transport.sent)
    }

    @Test func `Google's endpoints are those of GTMAppAuth`() {
        let google = OAuthConfiguration.google
        #expect(google.authorizationEndpoint.absoluteString == "https://accounts.google.com/o/oauth2/v2/auth")
        #expect(google.tokenEndpoint.absoluteString == "https://www.googleapis.com/oauth2/v4/token")
        #expect(google.issuer == nil)
    }

    @Test func `a configuration outlives its coding`() throws {
        for configuration in [OAuthConfiguration.google, OAuthFixture.configuration] {
            let data = try JSONEncoder().encode(configuration)
            #expect(try JSONDecoder().decode(OAuthConfiguration.self, from: data) == configuration)
        }
    }

    @Test(arguments: [
        ("https://idp.example", "https://idp.example"), ("https://idp.example/", "https://idp.example"),
        ("https://idp.example", "https://idp.example/"), ("https://idp.example/t/1", "https://idp.example/t/1"),
    ])
    func `discovery reads the document of the issuer`(issuer: String, named: String) async throws {
        let (configuration, sent) = try await Self.discover(
            .json(200, Self.document("issuer", "\"\(named)\"")), issuer: issuer)
        #expect(
            configuration
                == OAuthConfiguration(
                    authorizationEndpoint: OAuthFixture.url("https://idp.example/authorize"),
                    tokenEndpoint: OAuthFixture.url("https://idp.example/token"), issuer: OAuthFixture.url(named)))
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        #expect(sent == [OAuthFixture.url("\(base)/.well-known/openid-configuration")])
    }

    @Test(
        arguments: [
            ("issuer", nil), ("issuer", #""https://evil.example""#), ("issuer", #""https://IDP.example""#),
            ("issuer", #""https://idp.example//""#), ("issuer", "7"), ("authorization_endpoint", nil),
            ("authorization_endpoint", #""http://idp.example/authorize""#), ("token_endpoint", nil),
            ("token_endpoint", #""http://idp.example/token""#), ("token_endpoint", #""/token""#),
            ("token_endpoint", "{}"),
            ("jwks_uri", nil), ("jwks_uri", #""http://idp.example/keys""#), ("response_types_supported", nil),
            ("response_types_supported", #""code""#), ("subject_types_supported", nil),
            ("id_token_signing_alg_values_supported", nil),
        ] as [(String, String?)])
    func `a document that is incomplete or of another issuer is refused`(name: String, value: String?) async throws {
        await #expect(throws: SessionError.refused(code: "invalid_discovery", status: 200)) {
            try await Self.discover(.json(200, Self.document(name, value)))
        }
    }

    @Test(arguments: ["", "<html>", "[]", #"{"issuer":"#])
    func `what is no JSON object is refused`(text: String) async throws {
        await #expect(throws: SessionError.refused(code: "invalid_discovery", status: 200)) {
            try await Self.discover(.json(200, text))
        }
    }

    @Test(arguments: [404, 400, 403, 301, 302, 204])
    func `another status is refused, a redirect too`(status: Int) async throws {
        await #expect(throws: SessionError.refused(code: "discovery_failed", status: status)) {
            try await Self.discover(.answer(status, "", headers: ["Location": "https://evil.example/"]))
        }
    }

    @Test func `no network and an overload are not final`() async throws {
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await Self.discover(.drop) }
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await Self.discover(.json(500, "")) }
        for status in [429, 503] {
            await #expect(throws: SessionError.transient(retryAfter: 9)) {
                try await Self.discover(.json(status, Self.document(), headers: ["Retry-After": "9"]))
            }
        }
    }

    @Test func `an issuer that is not https or has a query is asked nothing`() async throws {
        let server = try ScriptedServer { _ in .json(200, Self.document()) }
        await #expect(throws: SessionError.insecureRequest) {
            try await OAuthConfiguration.discover(issuer: server.url())
        }
        await #expect(throws: SessionError.refused(code: "invalid_issuer", status: 0)) {
            try await OAuthConfiguration.discover(
                issuer: OAuthFixture.url("https://idp.example?x=1"), transport: DivertedTransport(server))
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `a cancelled discovery ends at once`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .json(200, Self.document()) }
        let call = Task {
            try await OAuthConfiguration.discover(
                issuer: OAuthFixture.url("https://idp.example"), transport: DivertedTransport(server))
        }
        await gate.reached()
        call.cancel()
        await #expect(throws: SessionError.cancelled) { try await call.value }
        gate.open()
    }
}
