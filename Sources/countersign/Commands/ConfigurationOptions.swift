import ArgumentParser
import Foundation

/// The option that names the configuration file.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .customLong("config"), help: "The YAML file; else COUNTERSIGN_CONFIG names it, and none is needed.",
        completion: .file(extensions: ["yaml", "yml"]))
    var path: String?

    func sources(isReload: Bool = false) throws -> ConfigurationSources {
        try ConfigurationSources(path: path, environment: ProcessInfo.processInfo.environment, isReload: isReload)
    }
}
