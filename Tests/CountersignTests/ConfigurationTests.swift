import Accounts
import Foundation
import HTTPAPI
import HTTPServer
import Logging
import Postgres
import Providers
import TestSupport
import Testing

@testable import countersign

/// What the file and the environment may say, and which faults are reported for everything else.
@Suite struct ConfigurationTests {
    private typealias Setup = ConfigurationSetup

    @Test func `the least configuration has the documented defaults`() throws {
        let configuration = try Setup().load()
        #expect(configuration.server.host == "127.0.0.1")
        #expect(configuration.server.port == 8080)
        #expect(configuration.server.publicURL == "http://127.0.0.1:8080")
        #expect(configuration.server.trustedProxies == .none)
        #expect(configuration.server.drainSeconds == 5)
        #expect(configuration.admin.host == "127.0.0.1")
        #expect(configuration.admin.port == 8081)
        #expect(configuration.admin.healthPort == nil)
        #expect(configuration.database.migrationURL == configuration.database.url)
        #expect(configuration.database.serviceRole == nil)
        #expect(configuration.database.poolSize == 8)
        #expect(configuration.database.preparedStatements)
        let apple = try #require(configuration.reloadable.apple)
        #expect(apple.teams.map(\.name) == ["main"])
        #expect(apple.teams.map(\.clientIDs) == [["com.example.app"]])
        #expect(apple.issuers == ["https://appleid.apple.com"])
        #expect(apple.nonceForm == .sha256Hex)
        #expect(configuration.reloadable.google == nil)
        #expect(configuration.reloadable.noncePolicy == .optional)
        #expect(configuration.reloadable.verifiedEmail == .prompt)
        #expect(configuration.reloadable.events.consentRevoked == .unlink)
        #expect(configuration.reloadable.events.accountDeleted == .unlink)
        #expect(configuration.reloadable.limits.byKind[.passwordPerAccount] == .limit(count: 10, seconds: 900))
        #expect(configuration.reloadable.limits.byKind[.guessPerNetwork] == .limit(count: 100, seconds: 900))
        #expect(configuration.reloadable.limits.byKind[.junkCodesPerNetwork] == .limit(count: 100, seconds: 900))
        #expect(configuration.reloadable.limits.byKind[.registrationPerNetwork] == .limit(count: 30, seconds: 3600))
        #expect(configuration.reloadable.limits.byKind[.mailPerAddress] == .limit(count: 6, seconds: 3600))
        #expect(configuration.reloadable.limits.byKind[.guessPerWideNetwork] == .limit(count: 2000, seconds: 900))
        #expect(configuration.reloadable.limits.byKind[.guessPerService] == .limit(count: 20_000, seconds: 900))
        #expect(configuration.tokens.issuer == "http://127.0.0.1:8080")
        #expect(configuration.tokens.audience == "http://127.0.0.1:8080")
        #expect(configuration.tokens.accessLifetime == 900)
        #expect(configuration.tokens.refreshLifetime == 5_184_000 && configuration.tokens.sessionLifetime == nil)
        #expect(configuration.mail == nil)
        #expect(configuration.reloadable.logLevel == .info)
        #expect(configuration.log.format == .json)
        #expect(!configuration.log.personalData)
    }

    /// Beside a database that hangs each request has its 503 then: `FrozenDatabaseTests`.
    @Test func `the requests' connections wait five seconds for an answer`() throws {
        let connections = Database.Configuration.service(try Setup().load().database)
        #expect(connections.answerTimeout == .seconds(5))
        #expect(connections.commitTimeout == .seconds(2))
        // The server gives a lock up before, and says so.
        #expect(connections.lockTimeout == .seconds(4))
        #expect(connections.acquireTimeout == .seconds(2))
    }

    @Test func `a file says everything, nested or dotted, and the environment overrides it`() throws {
        let setup = try Setup(["SERVER_PORT": "9001"])
        let configuration = try setup.load(
            yaml: """
                # A comment
                server:
                  port: 9000
                  trustedProxies: [10.0.0.0/8, "::1"]
                google:
                  clientIds:
                    - one.example
                    - two.example
                  authorizedParties: one.example, two.example
                  hostedDomains: [" one.example ", two.example]
                log.level: warning
                limits.mailPerAddress: 0
                tokens.sessionLifetime: 7776000
                linking: {verifiedEmail: automatic}
                """)
        #expect(configuration.server.port == 9001)
        #expect(configuration.server.publicURL == "http://127.0.0.1:9001")
        #expect(configuration.server.trustedProxies == TrustedProxies(["10.0.0.0/8", "::1"]))
        #expect(configuration.reloadable.google?.clientIDs == ["one.example", "two.example"])
        #expect(configuration.reloadable.google?.authorizedParties == ["one.example", "two.example"])
        #expect(configuration.reloadable.google?.hostedDomains == ["one.example", "two.example"])
        #expect(configuration.reloadable.logLevel == .warning)
        #expect(configuration.reloadable.limits.byKind[.mailPerAddress] == RateLimit.none)
        #expect(configuration.tokens.sessionLifetime == 7_776_000)
        #expect(configuration.reloadable.verifiedEmail == .automatic)
    }

    private static let refused = Result {
        let values = try DataFile("Fixtures/refused-values.json").decoded(as: [String: [String]].self)
        return values.flatMap { key, values in values.map { (key, $0) } }
    }

    @Test(arguments: try refused.get())
    func `a value that its key can't have is a fault that names key and variable, not the value`(
        key: String, value: String
    ) throws {
        let setup = try Setup()
        let variable = try ConfigurationSources(path: nil, environment: [:]).variable(for: key)
        setup.environment[variable] = value
        let faults = setup.faults()
        #expect(faults.contains { $0.hasPrefix("\(key) (\(variable)): ") }, "\(faults)")
        // The path of a file that was tried is the one value that is shown.
        if value.utf8.count > 4, !value.hasPrefix("/") { #expect(!faults.joined().contains(value)) }
    }

    @Test(
        arguments: [
            ("server: {prot: 1}", "server.prot", "unknown key"),
            ("apple:\n  clientID: a", "apple.clientID", "unknown key"),
            ("apple:", "apple", "is a section"),
            ("server.port: 1\nserver:\n  port: 2", "server.port", "is there twice"),
            ("server: {port: {a: 1}}", "server.port.a", "unknown key"),
            ("apple.team.beta.clientIds: [b]", "apple.team.beta.clientIds", "apple.teams doesn't list the team"),
            ("console.person.kim.scopes: [read]", "console.person.kim.scopes", "console.staff doesn't list the name"),
            ("webhooks.endpoint.crm.url: a", "webhooks.endpoint.crm.url", "webhooks.endpoints doesn't list the name"),
            ("server.port: [1, 2]", "server.port", "expects an integer"),
            ("server.port:", "server.port", "expects an integer"),
            ("postgres.preparedStatements: on", "postgres.preparedStatements", "expects true or false"),
        ])
    func `a fault in the file names the key and the file`(yaml: String, key: String, sentence: String) throws {
        let setup = try Setup()
        let path = setup.directory.appending(path: "config.yaml").path
        let faults = setup.faults(yaml: yaml)
        #expect(faults.contains { $0.hasPrefix("\(key) (\(path)): ") && $0.contains(sentence) }, "\(faults)")
    }

    @Test(
        arguments: [
            "- a\n- b", "just text", "a: [b, [c]]", "a: {b: *none}", "server: {port: 1", "server:\n\tport: 1",
            "a: 1\na: 2",
        ])
    func `a file that is no mapping of keys is one fault, which quotes nothing`(yaml: String) throws {
        let setup = try Setup()
        let faults = setup.faults(yaml: "\(yaml)\n# canary-secret\nb: canary-secret\n")
        #expect(faults.count == 1, "\(faults)")
        #expect(faults.first?.contains("isn't a YAML mapping of keys to values") == true, "\(faults)")
        #expect(!faults.joined().contains("canary-secret"))
    }

    @Test(
        arguments: [
            ("mail: {serviceName: null}", "mail.serviceName", "has no value: remove the key, "),
            ("mail.serviceName: ~ # none", "mail.serviceName", "has no value: remove the key, "),
            ("apple.privateKeyPath: NULL", "apple.privateKeyPath", "has no value: remove the key, "),
            ("server.port: Null", "server.port", "has no value: remove the key, "),
            ("google.hostedDomains: null", "google.hostedDomains", "has no value: remove the key, "),
            ("console.staff: [kim, ~]", "console.staff", "has no value as item 2: remove it, "),
            ("web.apps:\n  - null\n  - lamp", "web.apps", "has no value as item 1: remove it, "),
            // Another word in quotes.
            ("mail.from: \"~\"\npages.name: null", "pages.name", "has no value: remove the key, "),
        ])
    func `a null of YAML is no value`(yaml: String, key: String, sentence: String) throws {
        let setup = try Setup()
        let faults = setup.faults(yaml: yaml).filter { $0.hasPrefix("\(key) (") }
        #expect(faults.count == 1, "\(faults)")
        #expect(faults.first?.contains(": \(sentence)") == true, "\(faults)")
    }

    @Test(arguments: ["\"null\"", "'~'", "nullable", "~lamp"])
    func `a word in quotes, or another one, is a text`(word: String) throws {
        let configuration = try Setup().load(yaml: "pages.name: \(word)\ntokens.audience: \(word)\n")
        #expect(configuration.tokens.audience == word.filter { !"'\"".contains($0) })
    }

    @Test func `a file of comments is a file without keys`() throws {
        #expect(try Setup().faults(yaml: "# nothing\n\n   # yet\n").isEmpty)
        #expect(try Setup().faults(yaml: "").isEmpty)
    }

    @Test func `all faults are reported at once`() throws {
        let faults: [String]
        do {
            _ = try ConfigurationSources(
                path: nil, environment: ["COUNTERSIGN_SERVER_PORT": "x", "COUNTERSIGN_LOG_LEVEL": "x"]
            )
            .load(ServiceConfiguration.init)
            faults = []
        } catch {
            faults = error.faults.map(\.key)
        }
        #expect(Set(faults) == ["server.port", "log.level", "postgres.url", "keyring.path", "apple.clientIds"])
    }

    @Test(arguments: try ConfigurationCase.all(in: "missing-keys.json"))
    func `keys that need each other are asked for`(_ example: ConfigurationCase) throws {
        let key = try #require(example.key)
        let faults = try Setup(example.variables).faults()
        #expect(faults.contains { $0.hasPrefix("\(key) (") && $0.contains(example.says) }, "\(faults)")
    }

    @Test func `mail is sent in the name of the service, by default its host`() throws {
        let setup = try Setup([
            "MAIL_SMTP_URL": "smtp://lamp:canary@mail.example:587", "MAIL_FROM": "Lamp@Example.com",
            "SERVER_PUBLIC_URL": "https://auth.example.com/",
        ])
        let mail = try #require(try setup.load().mail)
        #expect(mail.from.text == "lamp@example.com")
        #expect(mail.serviceName == "auth.example.com")
        #expect("\(mail)".contains("mail.example"))
        #expect(!"\(mail)".contains("canary"))
        setup.environment["COUNTERSIGN_MAIL_SERVICE_NAME"] = "Lamp & Söhne"
        #expect(try setup.load().mail?.serviceName == "Lamp & Söhne")
    }

    @Test(arguments: ["", "/", "//", "///"])
    func `slashes at the end of the public URL are no part of it`(slashes: String) throws {
        for apps in ["", "lamp"] {
            let setup = try Setup([
                "SERVER_PUBLIC_URL": "https://auth.example.com\(slashes)", "WEB_APPS": apps,
                "WEB_APP_LAMP_REDIRECT_URIS": apps.isEmpty ? nil : "https://lamp.example.com/in",
            ])
            let configuration = try setup.load()
            #expect(configuration.server.publicURL == "https://auth.example.com")
            #expect(configuration.tokens.issuer == "https://auth.example.com")
        }
    }

    @Test func `each template that is wrong is a fault, whether mail is sent or not`() throws {
        let setup = try Setup()
        let templates = setup.directory.appending(path: "templates")
        _ = try setup.file("templates/de/password_changed.txt", "Subject: a\n\n{{code}}\n")
        _ = try setup.file("templates/de/password_changed.html", "b")
        _ = try setup.file("templates/de/pasword_changed.html", "b")
        setup.environment["COUNTERSIGN_MAIL_TEMPLATES_PATH"] = templates.path
        let key = "mail.templatesPath (COUNTERSIGN_MAIL_TEMPLATES_PATH): "
        let faults = setup.faults()
        #expect(faults.count == 2, "\(faults)")
        #expect(faults.contains { $0.hasPrefix("\(key)de/password_changed.txt: has a placeholder") }, "\(faults)")
        #expect(faults.contains { $0.hasPrefix("\(key)de/pasword_changed.html: is no template") }, "\(faults)")
        try FileManager.default.removeItem(at: templates.appending(path: "de/pasword_changed.html"))
        _ = try setup.file("templates/de/password_changed.txt", "Subject: a\n\nb\n")
        #expect(setup.faults().isEmpty)
    }

    @Test func `several teams have keys of their own`() throws {
        let setup = try Setup(["APPLE_TEAM_BETA_CLIENT_IDS": "com.example.beta"])
        let configuration = try setup.load(yaml: "apple.teams: [main, beta]\n")
        #expect(configuration.reloadable.apple?.teams.map(\.name) == ["main", "beta"])
        #expect(configuration.reloadable.apple?.teams.map(\.clientIDs) == [["com.example.app"], ["com.example.beta"]])
    }

    @Test(
        arguments: [
            ("k1 \(String(repeating: "A", count: 43))=\n", 0o644, "set its mode to 0600"),
            ("k1 \(String(repeating: "A", count: 43))=\n", 0o620, "set its mode to 0600"),
            ("", 0o600, "holds no key"),
            ("k1 AAAA\n", 0o600, "line 1"),
            ("k1 \(String(repeating: "A", count: 43))=\nk1 \(String(repeating: "B", count: 42))A=\n", 0o600, "line 2"),
        ] as [(String, Int, String)])
    func `a key ring that others can read, or that isn't one, is refused`(text: String, mode: Int, sentence: String)
        throws
    {
        let setup = try Setup()
        _ = try setup.file("keyring", text, mode: mode)
        let faults = setup.faults()
        #expect(faults.count == 1, "\(faults)")
        #expect(faults.first?.hasPrefix("keyring.path (COUNTERSIGN_KEYRING_PATH): ") == true)
        #expect(faults.first?.contains(sentence) == true, "\(faults)")
    }

    @Test func `a private key that isn't one is refused`() throws {
        let setup = try Setup(["APPLE_TEAM_ID": "TEAM", "APPLE_KEY_ID": "KEY"])
        setup.environment["COUNTERSIGN_APPLE_PRIVATE_KEY_PATH"] = try setup.file(
            "key.p8", "-----BEGIN PRIVATE KEY-----\n")
        let faults = setup.faults()
        #expect(faults.count == 1)
        #expect(faults.first?.hasPrefix("apple.privateKeyPath (") == true)
    }

    @Test(
        arguments: [
            ("postgresql://me@host/db", "me"), ("postgres://me:pw@host", "me"),
            ("postgresql://m%40e:p%3Aw@h/db", "m@e"),
            ("postgresql:///db?host=/tmp&user=me", "me"), ("postgresql://other@h/db?user=me", "me"),
            ("postgresql://a:1,b:2/db", nil), ("postgresql://me@a:1,b:2/db", "me"), ("postgresql:///db?host=a@b", nil),
            ("host=a user=me password=x", "me"), ("user = 'it\\'s me' host=a", "it's me"), ("host=a dbname=user", nil),
            ("password='user=you' user=me", "me"), ("host=a user=''", nil),
        ] as [(String, String?)])
    func `the user of a connection string is found where libpq finds it`(connection: String, user: String?) {
        #expect(PostgresUser(of: connection)?.name == user)
    }

    @Test(
        arguments: [
            ("0", RateLimit.none), ("10/15 min", .limit(count: 10, seconds: 900)),
            ("10/15min", .limit(count: 10, seconds: 900)),
            ("30/h", .limit(count: 30, seconds: 3600)), ("5/90s", .limit(count: 5, seconds: 90)),
            ("1/2d", .limit(count: 1, seconds: 172_800)), ("0/h", nil), ("10/", nil), ("/h", nil), ("10", nil),
            ("10/h ", nil),
            ("9999999999/h", nil),
        ] as [(String, RateLimit?)])
    func `a limit is a count and a duration`(text: String, limit: RateLimit?) { #expect(RateLimit(text) == limit) }

    @Test func `every default is a value that its key can have`() {
        for row in Settings.exampleRows {
            if let text = row.defaultText { #expect(row.accepts(.text(text)), "\(row.name)") }
        }
    }

    @Test func `the page of all keys says of each what the table says`() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../docs/configuration.md").standardized
        let page = try String(contentsOf: file, encoding: .utf8)
        #expect(
            page == ConfigurationReference.rewritten(page),
            "rewrite it: `countersign config reference < docs/configuration.md`")
        let names = Settings.rows { _ in ["name"] }.map { $0.name.replacing(".name.", with: ".NAME.") }
        for name in names { #expect(page.contains("\n| `\(name)` | "), "\(name)") }
    }

    @Test func `a page gets what changed of a key and a key that is new, and loses one that is gone`() {
        let page = ConfigurationReference.rewritten(
            """
            | Key | Variable | Type |
            | `server.port` | `COUNTERSIGN_SERVER_PORT` | a number | `80` | no | Where it listens |
            | `server.gone` | `COUNTERSIGN_SERVER_GONE` | a number | `80` | no | What was |

            """)
        #expect(page.contains("| an integer from 1 to 65535 | `8080` | no | Port of the public listener |\n"))
        #expect(!page.contains("server.gone"))
        #expect(page.contains("\n| `log.level` | `COUNTERSIGN_LOG_LEVEL` | "))
        #expect(page.contains(" | `server.publicUrl` | no | `iss` of our access tokens"))
        #expect(page.contains(" | required | no | The key ring |"))
        #expect(page == ConfigurationReference.rewritten(page))
    }

    @Test func `no key is in the table twice`() {
        let names = Settings.exampleRows.map(\.name)
        #expect(Set(names).count == names.count)
    }
}
