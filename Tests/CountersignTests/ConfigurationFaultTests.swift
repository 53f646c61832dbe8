import Foundation
import TestSupport
import Testing

@testable import countersign

/// What a fault of the configuration says, so that nobody has to search for its cause.
@Suite struct ConfigurationFaultTests {
    private typealias Setup = ConfigurationSetup

    private static let connectionStrings = Result {
        try DataFile("Fixtures/connection-strings.tsv").rows.map { ($0[0], $0[1]) }
    }

    @Test(
        arguments: [
            ("server: {prot: 1}", "server.prot", "server.port"),
            ("apple:\n  clientID: a", "apple.clientID", "apple.clientIds"),
            ("keyring.pth: a", "keyring.pth", "keyring.path"),
            ("server: {trustedproxy: a}", "server.trustedproxy", nil),
            ("lamp: {colour: red}", "lamp.colour", nil),
        ] as [(String, String, String?)])
    func `a misspelt key is asked whether it meant the nearest one`(yaml: String, key: String, meant: String?) throws {
        let fault = try #require(try Setup().faults(yaml: yaml).first { $0.hasPrefix("\(key) (") })
        #expect(fault.hasSuffix(meant.map { "unknown key; did you mean \($0)?" } ?? "for all there are"), "\(fault)")
    }

    @Test func `a misspelt variable too`() throws {
        let sources = try ConfigurationSources(
            path: nil,
            environment: [
                "COUNTERSIGN_SERVR_PORT": "1", "COUNTERSIGN_LAMP_COLOUR": "red", "COUNTERSIGN_OPERATOR": "kim",
            ])
        #expect(
            sources.unknownVariables.map(\.description) == [
                "COUNTERSIGN_LAMP_COLOUR belongs to no key",
                "COUNTERSIGN_SERVR_PORT belongs to no key; did you mean COUNTERSIGN_SERVER_PORT?",
            ])
    }

    @Test(
        arguments: [
            ("log.level", true), ("log.lvel", true), ("log.leevel", true), ("log.levle", true), ("log.lavel", true),
            ("LOG.LEVEL", true), ("lg.levl", true), ("lg.lvl", false), ("mail.from", false), ("log", false),
        ])
    func `a name is near by two characters more, less, swapped or different, in any case`(wrong: String, isNear: Bool) {
        #expect(["log.level", "server.port"].nearest(to: wrong) == (isNear ? "log.level" : nil))
    }

    @Test func `a name of a megabyte is compared with nothing`() {
        #expect(["server.port"].nearest(to: String(repeating: "server.port", count: 100_000)) == nil)
    }

    /// What stands for it is none of the operator's.
    @Test(
        arguments: [
            (["server.port": "x", "admin.port": "y"], ["server.port", "admin.port"]),
            (["server.port": "x", "admin.port": "1", "health.port": "2"], ["server.port"]),
            (["admin.port": "x", "health.port": "1"], ["admin.port"]),
            (["server.port": "7", "admin.port": "7", "health.port": "7"], ["admin.port", "health.port"]),
            (["apple.teams": "Main"], ["apple.teams"]),
        ] as [([String: String], [String])])
    func `a value that can't be read is compared with no other`(values: [String: String], faulty: [String]) throws {
        let setup = try Setup()
        let sources = try ConfigurationSources(path: nil, environment: [:])
        for (key, value) in values { setup.environment[sources.variable(for: key)] = value }
        #expect(setup.faults().map { String($0.prefix { $0 != " " }) } == faulty)
    }

    @Test func `a key that is missing is named with the file and the variable that lack it`() throws {
        let setup = try Setup(["KEYRING_PATH": nil])
        let path = setup.directory.appending(path: "config.yaml").path
        #expect(
            setup.faults(yaml: "log.level: info") == [
                "keyring.path (not in \(path), nor is COUNTERSIGN_KEYRING_PATH set): is required"
            ])
        #expect(setup.faults() == ["keyring.path (COUNTERSIGN_KEYRING_PATH): is required"])
    }

    @Test(
        arguments: [
            ("10.0.0.0/8, proxy.example", "item 2 of 2 isn't one"), ("10.0.0.0/8,,::1", "item 2 is empty"),
            ("::1,10.0.0.1,::1", "item 3 is item 1 again"),
        ])
    func `a list says which of its items is wrong`(list: String, flaw: String) throws {
        let setup = try Setup(["SERVER_TRUSTED_PROXIES": list])
        let fault = try #require(setup.faults().first)
        #expect(fault.hasPrefix("server.trustedProxies (COUNTERSIGN_SERVER_TRUSTED_PROXIES): expects a list of"))
        #expect(fault.hasSuffix(": \(flaw)"), "\(fault)")
        #expect(!fault.contains("proxy.example"))
        setup.set(["SERVER_TRUSTED_PROXIES": nil, "APPLE_CLIENT_IDS": ""])
        #expect(setup.faults().first?.hasSuffix("at least 1, none empty and none twice: there are 0") == true)
    }

    @Test func `times after which a webhook is tried again may be the same`() throws {
        let setup = try Setup(["WEBHOOKS_RETRY_SECONDS": "60,60,3600"])
        #expect(setup.faults().isEmpty)
        setup.environment["COUNTERSIGN_WEBHOOKS_RETRY_SECONDS"] = "60,60,0"
        let fault = try #require(setup.faults().first)
        #expect(fault.hasSuffix("a list of seconds from 1 to 604800, none empty: item 3 of 3 isn't one"), "\(fault)")
    }

    @Test(arguments: try connectionStrings.get())
    func `a connection string that libpq can't take is a fault that says why, and shows nothing of it`(
        url: String, flaw: String
    ) throws {
        for (key, name) in [("postgres.url", "POSTGRES_URL"), ("postgres.migrationUrl", "POSTGRES_MIGRATION_URL")] {
            let setup = try Setup()
            let variable = "COUNTERSIGN_\(name)"
            setup.environment[variable] = url
            let faults = setup.faults()
            #expect(faults.count == 1)
            let fault = try #require(faults.first)
            #expect(fault.hasPrefix("\(key) (\(variable)): expects a postgresql:// URI or libpq's"), "\(fault)")
            #expect(fault.contains("libpq's own parameters: \(flaw)"), "\(fault)")
            for shown in ["canary", "internal", "foo"] { #expect(!fault.contains(shown), "\(fault)") }
        }
    }

    @Test(
        arguments: [
            ("POSTGRES_URL", "postgresql://service@/canary\n", "postgres.url"),
            ("GOOGLE_SERVER_CLIENT_SECRET", "canary\n", "google.serverClientSecret"),
            ("MAIL_SERVICE_NAME", "canary\tlamp", "mail.serviceName"),
        ])
    func `a line break or another control character is called that`(variable: String, value: String, key: String) throws
    {
        let setup = try Setup([
            "GOOGLE_CLIENT_IDS": "a", "GOOGLE_SERVER_CLIENT_ID": "a", "GOOGLE_SERVER_CLIENT_SECRET": "s",
        ])
        setup.set([variable: value])
        let faults = setup.faults()
        #expect(faults.count == 1, "\(faults)")
        let fault = try #require(faults.first)
        #expect(fault.hasPrefix("\(key) (COUNTERSIGN_\(variable)): expects "), "\(fault)")
        #expect(fault.hasSuffix(": there is a line break or another control character in it"), "\(fault)")
        #expect(!fault.contains("canary"))
    }

    @Test func `config check says a connection string's fault in a line that shows nothing of it`() async throws {
        let setup = try Setup(["POSTGRES_URL": "postgresql://kim:canary@db.internal/canary?sslmode=internal"])
        let run = try await CountersignProcess.run(["config", "check"], environment: setup.environment).ended(2)
        #expect(run.output.isEmpty)
        let sentence = "postgres.url (COUNTERSIGN_POSTGRES_URL): expects a postgresql:// URI or libpq's"
        #expect(run.errors.hasPrefix("countersign: \(sentence)"), "\(run.errors)")
        #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
        #expect(run.errors.contains(": its sslmode is none of disable, "), "\(run.errors)")
        for shown in ["canary", "internal"] { #expect(!run.errors.contains(shown), "\(run.errors)") }
    }

    @Test(arguments: try ConfigurationCase.all(in: "warnings.json"))
    func `what is allowed and dangerous is warned of`(_ example: ConfigurationCase) throws {
        let warnings = try Setup(example.variables).load().warnings.map(\.sentence)
        #expect(warnings.count == 1)
        #expect(warnings.first?.hasPrefix(example.says) == true, "\(warnings)")
    }

    @Test func `config check says what is allowed and dangerous`() async throws {
        let setup = try Setup(["ADMIN_HOST": "0.0.0.0"])
        let run = try await CountersignProcess.run(["config", "check"], environment: setup.environment).ended()
        #expect(run.output == "the configuration is sound\n")
        #expect(run.errors.hasPrefix("countersign: warning: admin.host is 0.0.0.0, "), "\(run.errors)")
        #expect(run.errors.split(separator: "\n").count == 1)
    }

    @Test(arguments: ["10.0.0.0/8", "10.0.0.1", "fc00::/7", "2001:db8::/32"])
    func `a network of one's own is no danger`(proxies: String) async throws {
        let setup = try Setup(["SERVER_TRUSTED_PROXIES": proxies])
        #expect(try setup.load().warnings.isEmpty)
    }
}
