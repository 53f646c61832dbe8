import Foundation

@testable import countersign

/// A sound configuration; a test changes one key of it.
final class ConfigurationSetup {
    let directory: URL
    var environment: [String: String]

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "config-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        environment = [:]
        environment = [
            "COUNTERSIGN_POSTGRES_URL": "postgresql://service@/app",
            "COUNTERSIGN_APPLE_CLIENT_IDS": "com.example.app",
            "COUNTERSIGN_KEYRING_PATH": try file("keyring", "k1 \(String(repeating: "A", count: 43))=\n"),
        ]
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    func file(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        let path = directory.appending(path: name).path
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    func load(yaml: String? = nil) throws -> ServiceConfiguration {
        let path = try yaml.map { try file("config.yaml", $0) }
        return try ConfigurationSources(path: path, environment: environment).load(ServiceConfiguration.init)
    }

    /// The faults, each as `key (origin): sentence`.
    func faults(yaml: String? = nil) -> [String] {
        do {
            _ = try load(yaml: yaml)
            return []
        } catch let faults as ConfigurationFaults {
            return faults.faults.map(\.description)
        } catch {
            return ["\(error)"]
        }
    }
}
