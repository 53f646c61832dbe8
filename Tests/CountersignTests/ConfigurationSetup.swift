import Foundation
import TestSupport

@testable import countersign

/// A sound configuration; a test changes one key of it.
final class ConfigurationSetup {
    private let scratch: ScratchDirectory
    var directory: URL { scratch.url }
    var environment: [String: String]

    /// - Parameter variables: more of them, named without `COUNTERSIGN_`.
    init(_ variables: [String: String?] = [:]) throws {
        scratch = try ScratchDirectory()
        environment = [:]
        environment = [
            "COUNTERSIGN_POSTGRES_URL": "postgresql://service@/app", "COUNTERSIGN_APPLE_CLIENT_IDS": "com.example.app",
            "COUNTERSIGN_KEYRING_PATH": try file("keyring", "k1 \(String(repeating: "A", count: 43))=\n"),
        ]
        set(variables)
    }

    deinit { scratch.remove() }

    /// Sets variables, named without `COUNTERSIGN_`, or takes them away.
    func set(_ variables: [String: String?]) {
        for (name, value) in variables { environment["COUNTERSIGN_\(name)"] = value }
    }

    func file(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        try scratch.write(name, text, mode: mode)
    }

    func load(yaml: String? = nil) throws -> ServiceConfiguration {
        let path = try yaml.map { try file("config.yaml", $0) }
        return try ConfigurationSources(path: path, environment: environment).load(ServiceConfiguration.init)
    }

    /// The reload from `before` to `after`, at which the variables that begin with the prefix are gone.
    func reload(_ before: String, _ after: String, without prefix: String? = nil) throws -> ReloadedConfiguration {
        func sources(_ name: String, _ yaml: String) throws -> ConfigurationSources {
            try ConfigurationSources(path: file(name, yaml), environment: environment)
        }
        let start = try ConfigurationReading(of: sources("before", before), ServiceConfiguration.init)
        if let prefix { environment = environment.filter { !$0.key.hasPrefix(prefix) } }
        return try ReloadedConfiguration(try sources("after", after), running: start.map(\.reloadable))
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

/// Variables beside a sound configuration, and what is said of them.
struct ConfigurationCase: Decodable, Sendable {
    let variables: [String: String?]
    /// Of which it is said.
    let key: String?
    let says: String

    static func all(in file: String) throws -> [Self] { try DataFile("Fixtures/\(file)").decoded() }
}
