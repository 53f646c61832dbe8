import Accounts
import Foundation
import Testing

@testable import countersign

/// The keys of the console's staff, beside Google's of people or without them.
@Suite struct ConsoleConfigurationTests {
    static func setup() throws -> ConfigurationSetup {
        let setup = try ConfigurationSetup()
        let variables = [
            "GOOGLE_CLIENT_ID": "console", "GOOGLE_CLIENT_SECRET_PATH": try setup.file("secret", "s3cret\n"),
            "GOOGLE_HOSTED_DOMAIN": "lamp.example", "STAFF": "kim", "PERSON_KIM_EMAIL": "kim@lamp.example",
            "PERSON_KIM_SCOPES": "read",
        ]
        for (name, value) in variables { setup.environment["COUNTERSIGN_CONSOLE_\(name)"] = value }
        return setup
    }

    @Test(
        arguments: [
            ("ISSUERS", "https://a.example/"), ("KEYS_URL", "https://a.example/"), ("TOKEN_URL", "https://a.example/"),
            ("REVOKE_URL", "https://a.example/"), ("RISC_CONFIGURATION_URL", "https://a.example/"),
            ("AUTHORIZE_URL", "https://a.example/"),
        ] as [(String, String)])
    func `what says where Google is switches nothing on`(name: String, value: String) throws {
        for setup in [try Self.setup(), try ConfigurationSetup()] {
            setup.environment["COUNTERSIGN_GOOGLE_\(name)"] = value
            #expect(try setup.load().reloadable.google == nil)
        }
    }

    @Test(
        arguments: [
            ["CLIENT_IDS": "console"], ["CLIENT_IDS": "a", "SERVER_CLIENT_ID": "console", "SERVER_CLIENT_SECRET": "s"],
            ["CLIENT_IDS": "a", "AUTHORIZED_PARTIES": "console"],
        ] as [[String: String]])
    func `a client of the apps is none of the console's`(variables: [String: String]) throws {
        let setup = try Self.setup()
        for (name, value) in variables { setup.environment["COUNTERSIGN_GOOGLE_\(name)"] = value }
        #expect(setup.faults().contains { $0.hasPrefix("console.google.clientId ") })
    }

    @Test func `an address that can't be read is one fault`() throws {
        let setup = try Self.setup()
        setup.environment["COUNTERSIGN_CONSOLE_PERSON_KIM_EMAIL"] = "nobody"
        #expect(setup.faults().count == 1)
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
        let setup = try Self.setup()
        setup.environment["COUNTERSIGN_CONSOLE_\(variable)"] = value
        let faults = setup.faults()
        #expect(faults.count == 1, "\(faults)")
        #expect(faults.first?.hasPrefix("\(key) (") == true, "\(faults)")
        #expect(faults.first?.hasSuffix(": item 2 of 2 isn't one") == true, "\(faults)")
    }

    @Test func `foreign keys are warned of where staff alone sign in by them`() throws {
        let setup = try Self.setup()
        setup.environment["COUNTERSIGN_GOOGLE_KEYS_URL"] = "https://keys.example/certs"
        setup.environment["COUNTERSIGN_SERVER_PUBLIC_URL"] = "https://auth.example.com"
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
