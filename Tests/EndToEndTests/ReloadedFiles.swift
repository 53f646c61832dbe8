import Foundation
import OpenSSL
import TestSupport

/// A configuration file and the secret files that it names, which a test changes under a running service.
final class ReloadedFiles {
    /// A way to break the files, with the key and the words that the log must have.
    struct Fault: Sendable {
        let name: String
        let key: @Sendable (ReloadedFiles) -> String
        let words: String
        let make: @Sendable (ReloadedFiles) throws -> Void
    }

    private let directory: ScratchDirectory
    private let appleKey: [UInt8]
    var yaml: String

    init() throws {
        directory = try ScratchDirectory()
        appleKey = try World.appleKey.get().pem()
        yaml = ""
        try restore()
    }

    deinit { directory.remove() }

    var path: String { file("countersign.yaml") }

    /// The settings for the environment, without those of the file: the environment takes precedence.
    var settings: Countersign.Settings {
        let inFile = ["apple.clientIds", "google.clientIds", "keyring.path", "apple.privateKeyPath"]
        return Dictionary(uniqueKeysWithValues: inFile.map { ($0, Countersign.unset) })
            .merging(["config": path]) { $1 }
    }

    private func file(_ name: String) -> String { directory.url.appending(path: name).path }

    /// Writes the files as they were when the service started.
    func restore() throws {
        for name in ["countersign.yaml", "apple.p8", "keyring"] {
            try? FileManager.default.removeItem(atPath: file(name))
        }
        yaml = """
            apple:
              clientIds: [\(Countersign.appleClient)]
              privateKeyPath: \(file("apple.p8"))
            google.clientIds: [\(Countersign.googleClient)]
            keyring.path: \(file("keyring"))
            log: {level: notice}

            """
        try write()
        try write("apple.p8", appleKey)
        try write("keyring", Array(Data(contentsOf: URL(filePath: Countersign.keyRingPath.get()))))
    }

    func write() throws { try write("countersign.yaml", Array(yaml.utf8)) }

    /// The lines of a second team at Apple.
    func team(_ name: String, hasKey: Bool = true) -> String {
        let signing = hasKey ? ", teamId: BETA567890, keyId: BETAKEY890, privateKeyPath: \(file("apple.p8"))" : ""
        return """
            apple.teams: [main, \(name)]
            apple.team.\(name): {clientIds: [com.example.\(name)]\(signing)}

            """
    }

    func writeKeyRing(id: String) throws {
        try write("keyring", Array("\(id) \(Data(SecureRandom.bytes(32)).base64EncodedString())\n".utf8))
    }

    /// Replaces Apple's private key by a new one, and returns it.
    func rotateAppleKey() throws -> P256PrivateKey {
        let key = try P256PrivateKey()
        try write("apple.p8", key.pem())
        return key
    }

    private func write(_ name: String, _ bytes: [UInt8], mode: Int = 0o600) throws {
        try Data(bytes).write(to: URL(filePath: file(name)), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
    }
}

// MARK: - Faults

extension ReloadedFiles {
    static var faults: [Fault] { contents + values + combinations + secrets }

    private static func fault(
        _ name: String, _ key: String, _ words: String, _ make: @escaping @Sendable (ReloadedFiles) throws -> Void
    ) -> Fault {
        Fault(name: name, key: { _ in key }, words: words, make: make)
    }

    /// Faults of the file as a whole.
    private static var contents: [Fault] {
        let texts: [(String, String, String)] = [
            ("a list", "- a\n- b\n", "isn't a YAML mapping"),
            ("a text", "countersign\n", "isn't a YAML mapping"),
            ("an open bracket", "apple: [\n", "isn't a YAML mapping"),
            ("a tab", "apple:\n\tclientIds: a\n", "isn't a YAML mapping"),
            ("a broken quote", "server.host: \"127\n", "isn't a YAML mapping"),
            ("an alias without an anchor", "server: *none\n", "isn't a YAML mapping"),
            ("zero bytes", "\0\0\0\0", "isn't a YAML mapping"),
            ("bytes of a program", "\u{7F}ELF\u{1}\u{2}", "isn't a YAML mapping"),
            ("more than a mebibyte", String(repeating: "# long\n", count: 160_000), "is larger than"),
        ]
        let broken = texts.map { name, text, words in
            Fault(name: name, key: \.path, words: words) { try $0.write("countersign.yaml", Array(text.utf8)) }
        }
        let odd: [Fault] = [
            Fault(name: "no file", key: \.path, words: "is no file") {
                try FileManager.default.removeItem(atPath: $0.path)
            },
            Fault(name: "a directory", key: \.path, words: "is no file") {
                try FileManager.default.removeItem(atPath: $0.path)
                try FileManager.default.createDirectory(atPath: $0.path, withIntermediateDirectories: false)
            },
            Fault(name: "a link to nowhere", key: \.path, words: "is no file") {
                try FileManager.default.removeItem(atPath: $0.path)
                try FileManager.default.createSymbolicLink(atPath: $0.path, withDestinationPath: "/nowhere")
            },
            Fault(name: "a pipe without a writer", key: \.path, words: "is no file") {
                try FileManager.default.removeItem(atPath: $0.path)
                guard mkfifo($0.path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
            },
            fault("nothing in it", "apple.clientIds", "is required") {
                try $0.write("countersign.yaml", [])
            },
            fault("comments alone", "keyring.path", "is required") {
                try $0.write("countersign.yaml", Array("# later\n".utf8))
            },
        ]
        return broken + odd
    }

    /// Faults of one added line.
    private static var values: [Fault] {
        let lines: [(String, String, String)] = [
            ("server.hots: 127.0.0.1", "server.hots", "unknown key"),
            ("clusters: 1", "clusters", "unknown key"),
            ("limits: 5", "limits", "is a section"),
            ("apple.team.beta.clientIds: a", "apple.team.beta.clientIds", "doesn't list the team"),
            ("google: {clientIds: [again]}", "google.clientIds", "is there twice"),
            ("server.trustedProxies: everybody", "server.trustedProxies", "expects a list of IP addresses"),
            ("server.publicUrl: ftp://a", "server.publicUrl", "expects a URL"),
            ("tokens.audience: [a, b]", "tokens.audience", "expects a text"),
            ("admin.host: a b", "admin.host", "expects an IP address"),
            ("health.port: 65536", "health.port", "expects an integer"),
            ("postgres.preparedStatements: maybe", "postgres.preparedStatements", "expects true or false"),
            ("postgres.migrationUrl: nowhere", "postgres.migrationUrl", "expects a postgresql"),
            ("apple.issuers: []", "apple.issuers", "expects a list of issuers"),
            ("apple.issuers: [a, a]", "apple.issuers", "none twice"),
            ("apple.nonceForm: md5", "apple.nonceForm", "expects one of"),
            ("apple.redirectUris: [http://example.com]", "apple.redirectUris", "expects a list of https"),
            ("google.issuers: {a: b}", "google.issuers.a", "unknown key"),
            ("google.nonceForm: [raw]", "google.nonceForm", "expects one of"),
            ("google.hostedDomains: [a, '']", "google.hostedDomains", "none empty"),
            ("google.riscConfigurationUrl: http://example.com/", "google.riscConfigurationUrl", "expects an https"),
            ("nonces.policy: strict", "nonces.policy", "expects one of"),
            ("linking.verifiedEmail: always", "linking.verifiedEmail", "expects one of"),
            ("events.apple.consentRevoked: ignore", "events.apple.consentRevoked", "expects one of"),
            ("limits.passwordPerAccount: 10/fortnight", "limits.passwordPerAccount", "expects COUNT/DURATION"),
            ("limits.mailPerAddress: -1", "limits.mailPerAddress", "expects COUNT/DURATION"),
            ("tokens.accessLifetime: 0", "tokens.accessLifetime", "expects an integer"),
            ("tokens.refreshLifetime: 1e9", "tokens.refreshLifetime", "expects an integer"),
            ("tokens.issuer: ''", "tokens.issuer", "expects a text"),
            ("mail.smtpUrl: http://mail.example", "mail.smtpUrl", "expects an smtp"),
            ("mail.from: nobody", "mail.from", "expects an email address"),
            ("log.level: debug", "log.level", "is there twice"),
            ("log.personalData: 'yes'", "log.personalData", "expects true or false"),
        ]
        return lines.map { line, key, words in
            Fault(name: line, key: { _ in key }, words: words) {
                $0.yaml += line + "\n"
                // Shows whether any value of a broken file is applied.
                $0.yaml.replace("[\(Countersign.appleClient)]", with: "[com.example.lamp.added]")
                try $0.write()
            }
        }
    }

    /// A secret that stands where its file's name belongs.
    static let typedSecret = "GOCSPX-console123secret"

    /// Faults of keys that require or exclude each other, or of the files that they name.
    private static var combinations: [Fault] {
        [
            ("server.host: 0.0.0.0", "server.publicUrl", "is required when"),
            ("mail.from: lamp@example.com", "mail.smtpUrl", "is required beside"),
            ("google.serviceAccountPath: /nowhere", "google.serviceAccountPath", "names no file"),
            ("mail.templatesPath: /nowhere", "mail.templatesPath", "names no directory"),
            (
                "console.google.clientSecretPath: \(typedSecret)", "console.google.clientSecretPath",
                "not shown, as it may be the secret itself"
            ),
            ("apple.teams: [beta]", "apple.team.beta.clientIds", "is required"),
        ].map { line, key, words in
            Fault(name: line, key: { _ in key }, words: words) {
                $0.yaml += line + "\n"
                try $0.write()
            }
        }
    }

    /// Faults of the files that the file names.
    private static var secrets: [Fault] {
        [
            fault("no key ring", "keyring.path", "names no file") {
                try FileManager.default.removeItem(atPath: $0.file("keyring"))
            },
            fault("a key ring that all users may read", "keyring.path", "set its mode to 0600") {
                try $0.write("keyring", Array("k1 x".utf8), mode: 0o644)
            },
            fault("a key ring without a key", "keyring.path", "holds no key") { try $0.write("keyring", []) },
            fault("a key ring whose key is short", "keyring.path", "is not the base64 of 32 bytes") {
                try $0.write("keyring", Array("k1 AAAA\n".utf8))
            },
            fault("no .p8", "apple.privateKeyPath", "names no file") {
                try FileManager.default.removeItem(atPath: $0.file("apple.p8"))
            },
            fault("a .p8 that the group may write", "apple.privateKeyPath", "set its mode to 0600") {
                try $0.write("apple.p8", $0.appleKey, mode: 0o660)
            },
            fault("a .p8 that was cut off", "apple.privateKeyPath", "isn't an unencrypted PKCS#8") {
                try $0.write("apple.p8", Array($0.appleKey.prefix(80)))
            },
            fault("a .p8 of a megabyte", "apple.privateKeyPath", "is too large") {
                try $0.write("apple.p8", Array(repeating: 0x41, count: 1 << 20))
            },
        ]
    }
}
