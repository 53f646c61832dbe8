import Accounts
import Foundation
import Testing
import WebPages

@testable import countersign

/// The keys of the web sign-in and of its pages.
@Suite struct WebConfigurationTests {
    /// A sound configuration with one app, and more variables.
    private static func setup(_ more: [String: String?] = [:]) throws -> ConfigurationSetup {
        let setup = try ConfigurationSetup([
            "SERVER_PUBLIC_URL": "https://auth.example.com", "WEB_APPS": "lamp",
            "WEB_APP_LAMP_REDIRECT_URIS": "https://lamp.example.com/in",
        ])
        setup.set(more)
        return setup
    }

    @Test func `without an app the web sign-in is off`() throws {
        let setup = try ConfigurationSetup()
        #expect(try setup.load().reloadable.web == nil)
        setup.set(["WEB_APPS": "", "WEB_GOOGLE_REQUIRE_ISS": "true", "PAGES_NAME": "Lamp"])
        #expect(try setup.load().reloadable.web == nil)
        #expect(try setup.load().reloadable.limits.byKind[.webFlowsPerNetwork] == .limit(count: 300, seconds: 900))
    }

    @Test func `each app has keys of its own, in the file too`() throws {
        let setup = try Self.setup(["WEB_APPS": nil, "WEB_APP_LAMP_NAME": "Lamp & Co"])
        let web = try #require(
            try setup.load(
                yaml: """
                    web:
                      apps: [lamp, other]
                      google.requireIss: true
                      app:
                        lamp:
                          name: Lamp
                          redirectUris: [https://elsewhere.example/]
                        other:
                          redirectUris: ["com.example.other:/in", "http://127.0.0.1/in"]
                          appleRelayPackage: com.example.other
                    """
            ).reloadable.web)
        #expect(web.apps.map(\.id) == ["lamp", "other"])
        // The environment wins.
        #expect(web.apps.map(\.name) == ["Lamp & Co", "other"])
        #expect(
            web.apps.map { $0.redirectURIs.map(\.text) } == [
                ["https://lamp.example.com/in"], ["com.example.other:/in", "http://127.0.0.1/in"],
            ])
        #expect(web.relayPackages == ["other": "com.example.other"])
        #expect(
            web.relayRedirectURIs(publicURL: "https://auth.example.com") == [
                "https://auth.example.com/web/relay/apple/other"
            ])
    }

    @Test(arguments: try ConfigurationCase.all(in: "web-faults.json"))
    func `a value that its key can't have is a fault that names the key`(_ example: ConfigurationCase) throws {
        let key = try #require(example.key)
        let faults = try Self.setup(example.variables).faults()
        #expect(faults.contains { $0.hasPrefix("\(key) (") && $0.contains(example.says) }, "\(faults)")
    }

    @Test(
        arguments: [
            ("web.app.other.name: Other", "web.app.other.name"), ("web.app.lamp.title: Lamp", "web.app.lamp.title"),
        ])
    func `a key of an app that is not listed is unknown`(yaml: String, key: String) throws {
        let faults = try Self.setup().faults(yaml: yaml)
        #expect(faults.contains { $0.hasPrefix("\(key) (") && $0.contains("web.apps doesn't list") }, "\(faults)")
    }

    @Test func `the public URL may be plain on this machine, and have a final slash`() throws {
        for url in ["http://127.0.0.1:8080", "http://localhost:8080", "https://auth.example.com/"] {
            #expect(try Self.setup(["SERVER_PUBLIC_URL": url]).faults().isEmpty, "\(url)")
        }
    }

    @Test func `an app with a relay alone needs no redirect URI`() throws {
        let setup = try Self.setup(["WEB_APP_LAMP_REDIRECT_URIS": nil])
        #expect(setup.faults().count == 1)
        setup.environment["COUNTERSIGN_WEB_APP_LAMP_APPLE_RELAY_PACKAGE"] = "com.example.lamp_1"
        #expect(setup.faults().isEmpty)
    }

    @Test func `a Services ID is a client ID of its team, once, and of no other`() throws {
        let setup = try Self.setup(["APPLE_SERVICES_ID": "com.example.web"])
        var apple = try #require(try setup.load().reloadable.apple)
        #expect(apple.teams.map(\.clientIDs) == [["com.example.app", "com.example.web"]])
        #expect(apple.webTeam?.servicesID == "com.example.web")
        setup.environment["COUNTERSIGN_APPLE_SERVICES_ID"] = "com.example.app"
        #expect(try setup.load().reloadable.apple?.teams.map(\.clientIDs) == [["com.example.app"]])

        setup.set([
            "APPLE_TEAMS": "main,beta", "APPLE_TEAM_BETA_CLIENT_IDS": "com.example.beta",
            "APPLE_TEAM_BETA_SERVICES_ID": "com.example.app",
        ])
        let faults = setup.faults()
        #expect(faults.count == 1, "\(faults)")
        #expect(faults.first?.hasPrefix("apple.team.beta.servicesId (") == true, "\(faults)")
        setup.set(["APPLE_SERVICES_ID": nil, "APPLE_TEAM_BETA_SERVICES_ID": "com.example.beta.web"])
        apple = try #require(try setup.load().reloadable.apple)
        #expect(apple.webTeam?.name == "beta")
    }

    @Test func `a picture is known by its content, and bounded`() throws {
        let setup = try Self.setup()
        func load(_ bytes: [UInt8]) throws -> PageAsset? {
            let path = setup.directory.appending(path: "logo").path
            try Data(bytes).write(to: URL(filePath: path))
            setup.environment["COUNTERSIGN_PAGES_LOGO_PATH"] = path
            return try setup.load().pages.logo
        }
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00]
        #expect(try load(png)?.mediaType == "image/png")
        #expect(try load(png)?.path.hasPrefix("/web/assets/logo-") == true)
        for text in [
            "<svg/>", "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>",
            "\u{FEFF}<?xml version=\"1.0\"?>\n<!-- a -->\n<!DOCTYPE svg>\n<svg\n></svg>",
        ] { #expect(try load(Array(text.utf8))?.mediaType == "image/svg+xml", "\(text)") }
        for bytes in [
            [], Array("GIF89a".utf8), Array("<html><svg></svg></html>".utf8), Array("<svgx/>".utf8),
            Array("<!-- <svg/>".utf8), [0xFF] + Array("<svg/>".utf8), Array(png.prefix(7)),
        ] {
            #expect(throws: ConfigurationFaults.self, "\(bytes)") { try load(bytes) }
            #expect(setup.faults().contains { $0.contains("neither PNG nor SVG") })
        }
        let room = 64 * 1024 - png.count
        #expect(try load(png + [UInt8](repeating: 0, count: room))?.bytes.count == 64 * 1024)
        #expect(throws: ConfigurationFaults.self) { try load(png + [UInt8](repeating: 0, count: room + 1)) }
        #expect(setup.faults().contains { $0.contains("is larger than 64 KiB") })
    }

    @Test func `the pages are called as the host, unless they have a name`() throws {
        let setup = try Self.setup()
        #expect(try setup.load().pages.name == "auth.example.com")
        setup.set([
            "PAGES_NAME": "Lamp Accounts", "PAGES_ACCENT_COLOR": "#0A7cff",
            "PAGES_HELP_URL": "https://lamp.example.com/help?a=b",
        ])
        let pages = try setup.load().pages
        #expect(pages.name == "Lamp Accounts")
        #expect(pages.accentColor == RGBColor(red: 0x0A, green: 0x7C, blue: 0xFF))
        #expect(pages.helpURL == "https://lamp.example.com/help?a=b")
    }

    @Test func `mails call the service as the pages do, unless they have a name for it`() throws {
        let setup = try Self.setup([
            "MAIL_SMTP_URL": "smtp://mail.example:587", "MAIL_FROM": "lamp@example.com", "PAGES_NAME": "",
        ])
        #expect(setup.faults().count { $0.hasPrefix("pages.name (") } == 1)
        setup.environment["COUNTERSIGN_PAGES_NAME"] = "Lamp Accounts"
        #expect(try setup.load().mail?.serviceName == "Lamp Accounts")
        setup.environment["COUNTERSIGN_MAIL_SERVICE_NAME"] = "Lamp"
        #expect(try setup.load().mail?.serviceName == "Lamp")
    }

    // MARK: Reload

    private static func reload(_ before: String, _ after: String) throws -> ReloadedConfiguration {
        try setup(["WEB_APPS": nil, "WEB_APP_LAMP_REDIRECT_URIS": nil]).reload(before, after)
    }

    private static let lamp = "web: {apps: [lamp], app: {lamp: {redirectUris: [https://lamp.example.com/in]}}}\n"

    @Test func `an app comes and goes without a restart`() throws {
        let both = """
            web:
              apps: [lamp, other]
              app:
                lamp: {redirectUris: [https://lamp.example.com/in]}
                other: {redirectUris: [https://other.example.com/in]}
            """
        let added = try Self.reload(Self.lamp, both)
        #expect(added.running.section.web?.apps.map(\.id) == ["lamp", "other"])
        #expect(added.changed == ["web.apps", "web.app.other.redirectUris"])
        #expect(added.pending.isEmpty)
        let removed = try Self.reload(both, Self.lamp)
        #expect(removed.running.section.web?.apps.map(\.id) == ["lamp"])
    }

    @Test func `the web sign-in is switched on and off at a start, and its pages change then`() throws {
        let on = try Self.reload("log.level: info\n", Self.lamp + "pages.name: Lamp\n")
        #expect(on.running.section.web == nil)
        #expect(on.changed.isEmpty)
        #expect(on.pending == ["web.apps", "web.app.lamp.redirectUris", "pages.name"])
        let off = try Self.reload(Self.lamp, "log.level: info\n")
        #expect(off.running.section.web?.apps.map(\.id) == ["lamp"])
        #expect(off.pending == ["web.apps", "web.app.lamp.redirectUris"])
    }
}
