import Foundation
import Logging
import Testing

@testable import countersign

/// New values that can't be used before the next start, since what they need is taken then.
@Suite struct ConfigurationReloadTests {
    private static func crm(_ url: String) -> String {
        "webhooks: {endpoints: [crm], endpoint: {crm: {url: \"\(url)\", secretPath: secret}}}\n"
    }

    private static func setup() throws -> ConfigurationSetup {
        let setup = try ConfigurationSetup()
        _ = try setup.file("secret", "whsec_\(String(repeating: "A", count: 32))\n")
        return setup
    }

    /// Where the endpoint is since a reload.
    private static func address(_ reloaded: ReloadedConfiguration) -> String? {
        reloaded.running.sources.value(of: "webhooks.endpoint.crm.url")?.raw.text
    }

    private static let network = "webhooks.allowedNetworks: [10.1.0.0/16]\n"

    @Test func `a webhook in a network that is allowed at the next start waits for it, and nothing else does`() throws {
        let reloaded = try Self.setup().reload(
            "log.level: info\n", Self.network + Self.crm("http://10.1.0.5/events") + "log.level: debug\n")
        #expect(reloaded.changed == ["log.level"])
        #expect(
            reloaded.pending == [
                "webhooks.allowedNetworks", "webhooks.endpoints", "webhooks.endpoint.crm.url",
                "webhooks.endpoint.crm.secretPath",
            ])
        #expect(reloaded.running.section.webhooks.endpoints.isEmpty)
        #expect(reloaded.running.section.logLevel == .debug)
    }

    @Test func `what waits leaves in place what an earlier reload has brought`() throws {
        let setup = try Self.setup()
        let first = try setup.reload("log.level: info\n", Self.crm("https://crm.example/events"))
        #expect(Self.address(first) == "https://crm.example/events")
        func sources(_ yaml: String) throws -> ConfigurationSources {
            try ConfigurationSources(path: setup.file("again", yaml), environment: setup.environment)
        }
        let start = try ConfigurationReading(of: sources("log.level: info\n"), ServiceConfiguration.init)
        let second = try ReloadedConfiguration(
            sources(Self.network + Self.crm("http://10.1.0.5/events")), start: start, running: first.running)
        #expect(second.changed.isEmpty)
        #expect(second.pending == ["webhooks.allowedNetworks", "webhooks.endpoint.crm.url"])
        #expect(Self.address(second) == "https://crm.example/events")
        #expect(second.running.section.webhooks.endpoints.count == 1)
        let third = try ReloadedConfiguration(
            sources(Self.crm("https://crm.example/other")), start: start, running: second.running)
        #expect(third.changed == ["webhooks.endpoint.crm.url"])
        #expect(third.pending.isEmpty)
    }

    @Test func `the sentences of a scope stay as long as the OAuth server that shows them`() throws {
        let setup = try Self.setup()
        _ = try setup.file("scopes.yaml", "lamp: {en: See your lamps}\n")
        let reloaded = try setup.reload(
            "oauth: {enabled: true, scopes: [lamp], scopeTextsPath: scopes.yaml}\n",
            "oauth: {enabled: false, scopes: [lamp]}\n")
        #expect(reloaded.changed.isEmpty)
        #expect(reloaded.pending == ["oauth.enabled", "oauth.scopeTextsPath"])
        #expect(reloaded.running.section.oauth?.scopeTexts.count == 1)
    }

    @Test func `a webhook in a network that is never allowed is refused with all that comes with it`() throws {
        let setup = try Self.setup()
        #expect(throws: ConfigurationFaults.self) {
            try setup.reload("log.level: info\n", Self.crm("http://10.1.0.5/events") + "log.level: debug\n")
        }
    }
}
