import Foundation
import Logging
import OpenSSL
import Testing
import Webhooks

@testable import countersign

/// New values that can't be used before the next start, since what they need is taken then.
@Suite struct ConfigurationReloadTests {
    private static func crm(_ url: String, secretPath: String = "secret") -> String {
        "webhooks: {endpoints: [crm], endpoint: {crm: {url: \"\(url)\", secretPath: \(secretPath)}}}\n"
    }

    /// What a file with one secret has.
    private static func secret(_ letter: Character) -> String { "whsec_\(String(repeating: letter, count: 32))\n" }

    private static func setup() throws -> ConfigurationSetup {
        let setup = try ConfigurationSetup()
        _ = try setup.file("secret", secret("A"))
        return setup
    }

    /// The reload of another file after an earlier one.
    private static func reload(
        _ yaml: String, after earlier: ReloadedConfiguration, _ setup: ConfigurationSetup
    ) throws -> ReloadedConfiguration {
        let sources = try ConfigurationSources(path: setup.file("again", yaml), environment: setup.environment)
        return try ReloadedConfiguration(sources, running: earlier.running)
    }

    /// Whether events are signed with the secret of this letter.
    private static func signs(_ reloaded: ReloadedConfiguration, with letter: Character) throws -> Bool {
        let secrets = try #require(reloaded.running.section.webhooks.endpoints.first?.secrets)
        return try secrets.map { try $0.signature(id: "1", timestamp: 1, body: []) }
            == WebhookSecret.all(in: secret(letter)).map { try $0.signature(id: "1", timestamp: 1, body: []) }
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
                "webhooks.endpoints", "webhooks.allowedNetworks", "webhooks.endpoint.crm.url",
                "webhooks.endpoint.crm.secretPath",
            ])
        #expect(reloaded.running.section.webhooks.endpoints.isEmpty)
        #expect(reloaded.running.section.logLevel == .debug)
    }

    @Test func `what waits leaves in place what an earlier reload has brought`() throws {
        let setup = try Self.setup()
        let first = try setup.reload("log.level: info\n", Self.crm("https://crm.example/events"))
        #expect(Self.address(first) == "https://crm.example/events")
        let second = try Self.reload(Self.network + Self.crm("http://10.1.0.5/events"), after: first, setup)
        #expect(second.changed.isEmpty)
        #expect(second.pending == ["webhooks.allowedNetworks", "webhooks.endpoint.crm.url"])
        #expect(Self.address(second) == "https://crm.example/events")
        #expect(second.running.section.webhooks.endpoints.count == 1)
        let third = try Self.reload(Self.crm("https://crm.example/other"), after: second, setup)
        #expect(third.changed == ["webhooks.endpoint.crm.url"])
        #expect(third.pending.isEmpty)
    }

    @Test func `a secret that is rotated waits with the address of its webhook`() throws {
        let setup = try Self.setup()
        let first = try setup.reload("log.level: info\n", Self.crm("https://crm.example/events"))
        #expect(try Self.signs(first, with: "A"))
        _ = try setup.file("secret", Self.secret("B"))
        let waiting = Self.network + Self.crm("http://10.1.0.5/events")
        let second = try Self.reload(waiting, after: first, setup)
        #expect(second.changed.isEmpty)
        #expect(
            second.pending == [
                "webhooks.allowedNetworks", "webhooks.endpoint.crm.url", "webhooks.endpoint.crm.secretPath",
            ])
        #expect(try Self.signs(second, with: "A"))
        // Another signal makes no difference.
        let third = try Self.reload(waiting, after: second, setup)
        #expect(third.changed.isEmpty)
        #expect(third.pending == second.pending)
        #expect(try Self.signs(third, with: "A"))
        let fourth = try Self.reload(Self.crm("https://crm.example/events"), after: third, setup)
        #expect(fourth.changed == ["webhooks.endpoint.crm.secretPath"])
        #expect(try Self.signs(fourth, with: "B"))
    }

    @Test func `what waits needs no file that is gone meanwhile`() throws {
        let setup = try Self.setup()
        let first = try setup.reload("log.level: info\n", Self.crm("https://crm.example/events"))
        _ = try setup.file("new", Self.secret("B"))
        try FileManager.default.removeItem(at: setup.directory.appending(path: "secret"))
        let second = try Self.reload(
            Self.network + Self.crm("http://10.1.0.5/events", secretPath: "new") + "log.level: debug\n",
            after: first, setup)
        #expect(second.changed == ["log.level"])
        #expect(second.pending.contains("webhooks.endpoint.crm.secretPath"))
        #expect(try Self.signs(second, with: "A"))
    }

    @Test func `a provider that is switched off goes on without the file of its key`() throws {
        let setup = try ConfigurationSetup(["APPLE_CLIENT_IDS": nil])
        let key = try setup.file("apple.p8", String(decoding: P256PrivateKey().pem(), as: UTF8.self))
        let on = "apple: {clientIds: com.example.app, teamId: TEAM, keyId: KEY, privateKeyPath: apple.p8}\n"
        let both = on + "google.clientIds: app\n"
        let start = try setup.reload(both, both)
        try FileManager.default.removeItem(atPath: key)
        let off = try Self.reload("google.clientIds: app\nlog.level: debug\n", after: start, setup)
        #expect(off.changed == ["log.level"])
        #expect(off.pending.contains("apple.privateKeyPath"))
        #expect(off.running.section.apple?.teams.first?.signing?.keyWrittenAt != nil)
    }

    @Test func `the sentences of a scope stay as long as the OAuth server that shows them`() throws {
        let setup = try Self.setup()
        let texts = try setup.file("scopes.yaml", "lamp: {en: See your lamps}\n")
        let on = "oauth: {enabled: true, scopes: [lamp], scopeTextsPath: scopes.yaml}\n"
        let start = try setup.reload(on, on)
        try FileManager.default.removeItem(atPath: texts)
        let reloaded = try Self.reload("oauth: {enabled: false, scopes: [lamp]}\n", after: start, setup)
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
