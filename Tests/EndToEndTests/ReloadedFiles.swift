import Foundation
import OpenSSL
import TestSupport

/// A configuration file and the secret files that it names, which a test changes under a running service.
final class ReloadedFiles {
    /// A way to break the files, with the key and the words that the log must have.
    struct Fault: Sendable {
        let name: String
        /// `nil` for the path of the file itself.
        let key: String?
        let words: String
        let make: @Sendable (ReloadedFiles) throws -> Void
    }

    private let directory: ScratchDirectory
    private let appleKey: [UInt8]
    var yaml = ""

    init() throws {
        directory = try ScratchDirectory()
        appleKey = try World.appleKey.get().pem()
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
        for name in ["countersign.yaml", "apple.p8", "keyring"] { try? remove(name) }
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

    func write() throws { try write(yaml) }

    private func write(_ configuration: String) throws { try write("countersign.yaml", Array(configuration.utf8)) }

    private func remove(_ name: String = "countersign.yaml") throws {
        try FileManager.default.removeItem(atPath: file(name))
    }

    /// The lines of a second team at Apple.
    func team(_ name: String, hasKey: Bool = true) -> String {
        let signing = hasKey ? ", teamId: BETA567890, keyId: BETAKEY890, privateKeyPath: \(file("apple.p8"))" : ""
        return """
            apple.teams: [main, \(name)]
            apple.team.\(name): {clientIds: [com.example.\(name)]\(signing)}

            """
    }

    /// The lines of a webhook, whose secret is in a file beside them.
    func webhook(_ name: String) throws -> String {
        try write(name, Array((WebhookEndpointFile.secret + "\n").utf8))
        return """
            webhooks.endpoints: [\(name)]
            webhooks.endpoint.\(name): {url: "https://receiver.example/hook", secretPath: \(file(name))}

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
    static var faults: [Fault] { get throws { try texts() + contents + lines() + secrets } }

    private static func fault(
        _ name: String, _ key: String?, _ words: String, _ make: @escaping @Sendable (ReloadedFiles) throws -> Void
    ) -> Fault { Fault(name: name, key: key, words: words, make: make) }

    /// Texts that are no configuration file.
    private static func texts() throws -> [Fault] {
        let texts = try Fixtures.file("unreadable-configurations.json").decoded(as: [String: String].self)
        return texts.map { name, text in fault(name, nil, "isn't a YAML mapping") { try $0.write(text) } }
    }

    /// Other faults of the file as a whole.
    private static var contents: [Fault] {
        [
            fault("more than a mebibyte", nil, "is larger than") {
                try $0.write(String(repeating: "# long\n", count: 160_000))
            },
            fault("no file", nil, "is no file") { try $0.remove() },
            fault("a directory", nil, "is no file") {
                try $0.remove()
                try FileManager.default.createDirectory(atPath: $0.path, withIntermediateDirectories: false)
            },
            fault("a link to nowhere", nil, "is no file") {
                try $0.remove()
                try FileManager.default.createSymbolicLink(atPath: $0.path, withDestinationPath: "/nowhere")
            },
            fault("a pipe without a writer", nil, "is no file") {
                try $0.remove()
                guard mkfifo($0.path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
            },
            fault("nothing in it", "apple.clientIds", "is required") { try $0.write("") },
            fault("comments alone", "keyring.path", "is required") { try $0.write("# later\n") },
        ]
    }

    /// A secret that stands where its file's name belongs.
    static let typedSecret = "GOCSPX-console123secret"

    /// Faults of one added line, by itself or beside the others.
    private static func lines() throws -> [Fault] {
        let key = "console.google.clientSecretPath"
        let typed = ["\(key): \(typedSecret)", key, "not shown, as it may be the secret itself"]
        return (try Fixtures.file("configuration-faults.tsv").rows + [typed]).map { row in
            fault(row[0], row[1], row[2]) {
                $0.yaml += row[0] + "\n"
                // Shows whether any value of a broken file is applied.
                $0.yaml.replace("[\(Countersign.appleClient)]", with: "[com.example.lamp.added]")
                try $0.write()
            }
        }
    }

    /// Faults of the files that the file names.
    private static var secrets: [Fault] {
        [
            fault("no key ring", "keyring.path", "names no file") { try $0.remove("keyring") },
            fault("a key ring that all users may read", "keyring.path", "set its mode to 0600") {
                try $0.write("keyring", Array("k1 x".utf8), mode: 0o644)
            },
            fault("a key ring without a key", "keyring.path", "holds no key") { try $0.write("keyring", []) },
            fault("a key ring whose key is short", "keyring.path", "is not the base64 of 32 bytes") {
                try $0.write("keyring", Array("k1 AAAA\n".utf8))
            },
            fault("no .p8", "apple.privateKeyPath", "names no file") { try $0.remove("apple.p8") },
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
