/// A fault in the configuration: the key, the origin of its value, and what is expected of it. Never the value, which
/// may be a secret in the wrong place.
struct ConfigurationFault: Error, Equatable, CustomStringConvertible {
    let key: String
    let origin: ConfigurationOrigin
    let sentence: String

    var description: String { "\(key) (\(origin)): \(sentence)" }
}

/// All faults of a configuration, so that one run shows an operator the whole list.
struct ConfigurationFaults: Error, CustomStringConvertible {
    let faults: [ConfigurationFault]

    var description: String { faults.map(\.description).joined(separator: "\n") }
}

/// The place where a value was found, or could have been set.
enum ConfigurationOrigin: Equatable, CustomStringConvertible {
    case file(String)
    case environment(String)
    /// Neither the file nor the variable has it.
    case missing(file: String, variable: String)
    case commandLine
    case builtIn

    var description: String {
        switch self {
        case .file(let path): path
        case .environment(let variable): variable
        case .missing(let file, let variable): "not in \(file), nor is \(variable) set"
        case .commandLine: "--config"
        case .builtIn: "default"
        }
    }
}
