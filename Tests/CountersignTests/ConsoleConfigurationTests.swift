import Accounts
import Foundation
import Testing

@testable import countersign

/// The keys of the console's staff, beside Google's of people or without them.
@Suite struct ConsoleConfigurationTests {
    static func setup(_ more: [String: String?] = [:]) throws -> ConfigurationSetup {
        let setup = try ConfigurationSetup()
        setup.set([
            "CONSOLE_GOOGLE_CLIENT_ID": "console",
            "CONSOLE_GOOGLE_CLIENT_SECRET_PATH": try setup.file("secret", "s3cret\n"),
            "CONSOLE_GOOGLE_HOSTED_DOMAIN": "lamp.example", "CONSOLE_STAFF": "kim",
            "CONSOLE_PERSON_KIM_EMAIL": "kim@lamp.example", "CONSOLE_PERSON_KIM_SCOPES": "read",
        ])
        setup.set(more)
        return setup
    }

    @Test(arguments: ["ISSUERS", "KEYS_URL", "TOKEN_URL", "REVOKE_URL", "RISC_CONFIGURATION_URL", "AUTHORIZE_URL"])
    func `what says where Google is switches nothing on`(name: String) throws {
        for setup in [try Self.setup(), try ConfigurationSetup()] {
            setup.set(["GOOGLE_\(name)": "https://a.example/"])
            #expect(try setup.load().reloadable.google == nil)
        }
    }

    @Test(
        arguments: [
            ["GOOGLE_CLIENT_IDS": "console"],
            ["GOOGLE_CLIENT_IDS": "a", "GOOGLE_SERVER_CLIENT_ID": "console", "GOOGLE_SERVER_CLIENT_SECRET": "s"],
            ["GOOGLE_CLIENT_IDS": "a", "GOOGLE_AUTHORIZED_PARTIES": "console"],
        ] as [[String: String]])
    func `a client of the apps is none of the console's`(variables: [String: String]) throws {
        #expect(try Self.setup(variables).faults().contains { $0.hasPrefix("console.google.clientId ") })
    }

    @Test(arguments: ["lamp.example", "Lamp-1.Example.COM", "xn--lmp-qla.example", "l\u{E4}mp.example"])
    func `a Workspace domain is any name of a domain`(domain: String) throws {
        let setup = try Self.setup(["CONSOLE_GOOGLE_HOSTED_DOMAIN": domain, "GOOGLE_CLIENT_IDS": "app"])
        setup.set(["GOOGLE_HOSTED_DOMAINS": "other.example, \(domain)"])
        #expect(setup.faults().isEmpty)
    }

    @Test func `an address that can't be read is one fault`() throws {
        #expect(try Self.setup(["CONSOLE_PERSON_KIM_EMAIL": "nobody"]).faults().count == 1)
    }

    /// The scope of the feed opens no page.
    @Test(
        arguments: [
            ("STAFF", "kim,kim@support", "console.staff"),
            ("PERSON_KIM_SCOPES", "read,feed", "console.person.kim.scopes"),
        ])
    func `a list with a name or a scope that no person can have is one fault`(
        variable: String, value: String, key: String
    ) throws {
        let faults = try Self.setup(["CONSOLE_\(variable)": value]).faults()
        #expect(faults.count == 1, "\(faults)")
        #expect(faults.first?.hasPrefix("\(key) (") == true, "\(faults)")
        #expect(faults.first?.hasSuffix(": item 2 of 2 isn't one") == true, "\(faults)")
    }

    @Test func `foreign keys are warned of where staff alone sign in by them`() throws {
        let setup = try Self.setup([
            "GOOGLE_KEYS_URL": "https://keys.example/certs", "SERVER_PUBLIC_URL": "https://auth.example.com",
        ])
        #expect(try setup.load().warnings == [.foreignKeys(.google, url: "https://keys.example/certs")])
    }

    @Test func `staff go with Google's places at a reload`() throws {
        let gone = try Self.setup().reload(
            "google: {tokenUrl: https://a.example/, keysUrl: https://a.example/keys}\n", "log.level: info\n",
            without: "COUNTERSIGN_CONSOLE_")
        #expect(gone.running.section.console.google == nil)
        #expect(gone.running.section.google == nil)
        #expect(gone.pending == ["google.keysUrl"])
    }

    @Test func `people's clients wait for the next start, staff or not`() throws {
        let added = try Self.setup().reload("google.tokenUrl: https://a.example/\n", "google.clientIds: [app]\n")
        #expect(added.running.section.google == nil)
        #expect(added.pending.contains("google.clientIds") && !added.changed.contains("google.clientIds"))
    }
}
