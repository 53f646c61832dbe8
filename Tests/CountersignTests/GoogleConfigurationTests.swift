import Accounts
import Foundation
import TestSupport
import Testing

@testable import countersign

/// The keys of several Google projects.
@Suite struct GoogleConfigurationTests {
    /// A sound configuration with the project `beta` besides `main`, which has no server client.
    private static func setup(_ more: [String: String?] = [:]) throws -> ConfigurationSetup {
        let setup = try ConfigurationSetup([
            "GOOGLE_CLIENT_IDS": "web.main,ios.main", "GOOGLE_PROJECTS": "beta",
            "GOOGLE_PROJECT_BETA_CLIENT_IDS": "web.beta,ios.beta", "GOOGLE_PROJECT_BETA_SERVER_CLIENT_ID": "web.beta",
            "GOOGLE_PROJECT_BETA_SERVER_CLIENT_SECRET": "canary",
        ])
        setup.set(more)
        return setup
    }

    private static func google(_ setup: ConfigurationSetup) throws -> GoogleConfiguration {
        try #require(try setup.load().reloadable.google)
    }

    @Test func `a project besides main has keys of its own`() throws {
        let setup = try Self.setup()
        let google = try Self.google(setup)
        #expect(google.projects.map(\.name) == ["main", "beta"])
        #expect(google.clientIDs == ["web.main", "ios.main", "web.beta", "ios.beta"])
        #expect(google.projects.map { $0.serverClient?.id } == [nil, "web.beta"])
        #expect(google.webClient?.id == "web.beta")
        setup.set(["GOOGLE_SERVER_CLIENT_ID": "web.main", "GOOGLE_SERVER_CLIENT_SECRET": "canary"])
        #expect(try Self.google(setup).webClient?.id == "web.main")
    }

    @Test func `a server client is a client of its project, listed or not`() throws {
        let setup = try Self.setup(["GOOGLE_SERVER_CLIENT_ID": "server.main", "GOOGLE_SERVER_CLIENT_SECRET": "canary"])
        let google = try Self.google(setup)
        #expect(google.clientIDs == ["web.main", "ios.main", "server.main", "web.beta", "ios.beta"])
        #expect(google.webClient?.id == "server.main")
    }

    @Test func `main may be listed, in its place, or have no key`() throws {
        let setup = try Self.setup(["GOOGLE_PROJECTS": "beta,main"])
        #expect(try Self.google(setup).projects.map(\.name) == ["beta", "main"])
        setup.set(["GOOGLE_PROJECTS": "beta", "GOOGLE_CLIENT_IDS": nil])
        #expect(try Self.google(setup).projects.map(\.name) == ["beta"])
    }

    @Test func `answers must name their issuer where that is asked for, also without an app of our own`() throws {
        let setup = try Self.setup()
        #expect(try !Self.google(setup).requiresAnswerIssuer)
        setup.environment["COUNTERSIGN_WEB_GOOGLE_REQUIRE_ISS"] = "true"
        #expect(try setup.load().reloadable.web == nil)
        #expect(try Self.google(setup).requiresAnswerIssuer)
    }

    @Test func `Workspace domains are compared as Google states them, in lower case`() throws {
        let setup = try Self.setup(["GOOGLE_HOSTED_DOMAINS": "Example.COM, m\u{DC}ller.example"])
        #expect(try Self.google(setup).hostedDomains == ["example.com", "m\u{DC}ller.example"])
        let file = try ConfigurationSetup().load(
            yaml: "google: {clientIds: a, hostedDomains: [Example.com, b.EXAMPLE]}")
        #expect(file.reloadable.google?.hostedDomains == ["example.com", "b.example"])
        setup.set(["GOOGLE_HOSTED_DOMAINS": "example.com,Example.com"])
        #expect(setup.faults().map { $0.hasSuffix("item 2 is item 1 again") } == [true])
        let staff = try ConsoleConfigurationTests.setup(["CONSOLE_GOOGLE_HOSTED_DOMAIN": "Lamp.Example"])
        #expect(try staff.load().reloadable.console.google?.hostedDomain == "lamp.example")
    }

    @Test func `projects have keys in the file, too`() throws {
        let google = try ConfigurationSetup().load(
            yaml: """
                google:
                  projects: [one, two]
                  project:
                    one: {clientIds: [web.one]}
                    two: {clientIds: [web.two, ios.two], serverClientId: web.two, serverClientSecret: canary}
                """
        ).reloadable.google
        #expect(google?.projects.map(\.clientIDs) == [["web.one"], ["web.two", "ios.two"]])
        #expect(google?.webClient?.secret == "canary")
    }

    @Test(arguments: try ConfigurationCase.all(in: "google-project-faults.json"))
    func `a fault in a project's keys names the key`(_ example: ConfigurationCase) throws {
        let key = try #require(example.key)
        let faults = try Self.setup(example.variables).faults()
        #expect(faults.count == 1 || key == "google.projects", "\(faults)")
        #expect(faults.contains { $0.hasPrefix("\(key) (COUNTERSIGN_") && $0.contains(example.says) }, "\(faults)")
        #expect(!faults.joined().contains("canary"))
    }

    @Test(
        arguments: [
            ("google.project.gamma.clientIds: [b]", "google.project.gamma.clientIds"),
            ("google.project.main.clientIds: [b]", "google.project.main.clientIds"),
            ("google: {project: {beta: {secret: s}}}", "google.project.beta.secret"),
        ])
    func `a key of no listed project is unknown`(yaml: String, key: String) throws {
        let faults = try Self.setup().faults(yaml: yaml)
        #expect(faults.count == 1, "\(faults)")
        #expect(faults.first?.hasPrefix("\(key) (") == true)
        #expect(faults.first?.contains("google.projects doesn't list the project") == true)
    }

    @Test func `the secret of a project is one, in a file and on the screen`() async throws {
        let setup = try ConfigurationSetup()
        let yaml = """
            google: {projects: [beta], project: {beta: {clientIds: a, serverClientId: a, serverClientSecret: canary}}}
            """
        let path = try setup.file("open.yaml", yaml, mode: 0o644)
        do {
            _ = try ConfigurationSources(path: path, environment: setup.environment).load(ServiceConfiguration.init)
            Issue.record("a file that others can open was taken")
        } catch {
            #expect(error.faults.map(\.key) == ["google.project.beta.serverClientSecret"])
        }
        let shown = try await CountersignProcess.run(["config", "show", "--config", path])
        #expect(shown.output.contains("google.project.beta.serverClientSecret: \"<redacted>\"  # \(path)."))
        #expect(shown.output.contains("google.project.beta.clientIds: \"a\"  # \(path)."))
        #expect(!shown.output.contains("canary"))
    }

    @Test func `a variable of a project that isn't listed is reported`() throws {
        let setup = try Self.setup(["GOOGLE_PROJECT_GAMMA_CLIENT_IDS": "c"])
        let sources = try ConfigurationSources(path: nil, environment: setup.environment)
        #expect(sources.unknownVariables.map(\.name) == ["COUNTERSIGN_GOOGLE_PROJECT_GAMMA_CLIENT_IDS"])
    }

    @Test func `token verify takes the tokens of every project`() async throws {
        let token = try #require(try Vectors.realIDTokens.first { $0.issuer.contains("google") })
        let keySet = try #require(token.keySets.first { !$0.contains("legacy") })
        let file = URL(filePath: #filePath).appending(path: "../../Vectors/jwks/\(keySet)").standardized
        let arguments = [
            "token", "verify", "--provider", "google", "--jwks", file.path, "--at",
            Timestamp(seconds: token.issuedAt).rfc3339, token.token,
        ]
        var variables = [
            "COUNTERSIGN_GOOGLE_CLIENT_IDS": "a", "COUNTERSIGN_GOOGLE_PROJECTS": "beta",
            "COUNTERSIGN_GOOGLE_PROJECT_BETA_CLIENT_IDS": token.audience,
        ]
        let valid = try await CountersignProcess.run(arguments, environment: variables)
        #expect(valid.code == 0, "\(valid.output)\(valid.errors)")
        variables["COUNTERSIGN_GOOGLE_PROJECT_BETA_CLIENT_IDS"] = "b"
        let refused = try await CountersignProcess.run(arguments, environment: variables)
        #expect(refused.output.contains("audience_rejected"), "\(refused.output)\(refused.errors)")
        variables["COUNTERSIGN_GOOGLE_PROJECT_BETA_SERVER_CLIENT_ID"] = token.audience
        let served = try await CountersignProcess.run(arguments, environment: variables)
        #expect(served.code == 0, "\(served.output)\(served.errors)")
    }

    @Test func `the doctor says which project's codes are left alone, and whose button there is`() async throws {
        let server = try LoopbackServer { _ in [.respond(400)] }
        let setup = try Self.setup([
            "GOOGLE_TOKEN_URL": "\(server.url)/token", "GOOGLE_REVOKE_URL": "\(server.url)/revoke",
            "WEB_APPS": "lamp", "WEB_APP_LAMP_REDIRECT_URIS": "https://a.example/in",
        ])
        let (endpoints, web) = try await Doctor.with(setup.environment) { doctor in
            (await doctor.googleEndpoints().map(\.line), await doctor.webSignIn().map(\.line))
        }
        #expect(
            endpoints == [
                "ok googleEndpoints: \(server.url)/token and \(server.url)/revoke answer",
                "ok googleEndpoints: the project main has no server client: ID tokens alone, no codes",
            ])
        #expect(
            web.contains { $0.hasSuffix("/web/callback/google as a redirect URI of the client web.beta") }, "\(web)")
    }
}
