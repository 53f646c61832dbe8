import Configuration
import Synchronization

/// A variable with our prefix that belongs to no key.
struct UnknownVariable: Equatable, CustomStringConvertible {
    let name: String
    /// The variable of a key that was probably meant.
    let nearest: String?

    var description: String { "\(name) belongs to no key" + (nearest.map { "; did you mean \($0)?" } ?? "") }
}

/// The sources of values: the environment first, then one YAML file, if there is one.
struct ConfigurationSources: Sendable {
    private static let fileVariable = "COUNTERSIGN_CONFIG"

    private static let spelling = EnvironmentVariablesProvider(environmentVariables: [:])
    /// The variable of each key that was asked for: spelling one takes 10 µs, and a start asks for hundreds several times.
    private static let spelled = Mutex<[String: String]>([:])

    private let environment: [String: String]
    /// The names of all variables that begin with `COUNTERSIGN_`.
    private let variables: [String]
    private let file: ConfigurationFile?
    /// What replaces `file` for these keys: another file, or none.
    private var kept: [String: ConfigurationFile?] = [:]

    /// Reads the file at `path`, else the one that COUNTERSIGN_CONFIG names, else none. At the start it may be a pipe.
    init(path: String?, environment variables: [String: String], isReload: Bool = false) throws(ConfigurationFaults) {
        environment = variables
        self.variables = variables.keys.filter { $0.hasPrefix("COUNTERSIGN_") }.sorted()
        if let path {
            file = try ConfigurationFile(path: path, origin: .commandLine, isReload: isReload)
        } else if let path = variables[Self.fileVariable], !path.isEmpty {
            file = try ConfigurationFile(path: path, origin: .environment(Self.fileVariable), isReload: isReload)
        } else {
            file = nil
        }
    }

    /// The effective value of a key, and its origin.
    func value(of name: String) -> (raw: RawValue, origin: ConfigurationOrigin)? {
        let variable = variable(for: name)
        if let text = environment[variable] { return (.text(text), .environment(variable)) }
        guard let file = source(of: name), let raw = file.value(of: name) else { return nil }
        return (raw, .file(file.path))
    }

    /// Whether others than its owner can open the file that has a key.
    func isExposed(_ name: String) -> Bool { source(of: name).map { !$0.isSecret } ?? false }

    /// The full names of all keys in the file.
    var fileKeys: [String] {
        let ours = (file?.keys ?? []).filter { kept[$0] == nil }
        return ours + kept.filter { name, file in file?.value(of: name) != nil }.keys.sorted()
    }

    /// A copy that reads these keys from where other sources do.
    func keeping(_ names: [String], of other: ConfigurationSources) -> ConfigurationSources {
        var sources = self
        for name in names { sources.kept.updateValue(other.source(of: name), forKey: name) }
        return sources
    }

    var filePath: String? { file?.path }

    /// Where a key that has no value could have one.
    func origin(ofMissing name: String) -> ConfigurationOrigin {
        let variable = variable(for: name)
        return file.map { .missing(file: $0.path, variable: variable) } ?? .environment(variable)
    }

    /// The folder from which relative paths of the file count that has a key. Nil where the configuration came through a
    /// pipe: they count from where the program is started.
    func folder(of name: String) -> String? { source(of: name)?.folder }

    private func source(of name: String) -> ConfigurationFile? { if let kept = kept[name] { kept } else { file } }

    /// The path that a key names.
    func path(of row: any SettingRow) -> String? {
        guard let (raw, origin) = value(of: row.name), let path = raw.text else { return nil }
        guard case .file = origin, let folder = folder(of: row.name) else { return path }
        return row.located(path, in: folder)
    }

    /// `apple.clientIds` → `COUNTERSIGN_APPLE_CLIENT_IDS`, as the environment provider spells it.
    func variable(for name: String) -> String {
        Self.spelled.withLock { spelled in
            if let variable = spelled[name] { return variable }
            let key = AbsoluteConfigKey(["countersign"] + name.split(separator: ".").map(String.init))
            let variable = (try? Self.spelling.value(forKey: key, type: .string).encodedKey) ?? name
            spelled[name] = variable
            return variable
        }
    }

    /// The variables with our prefix that belong to no key: a misspelt one silently leaves a default in place. They are
    /// reported and are no fault, for not all of them are mistakes: an older release finds those of a newer one after
    /// an upgrade is taken back, and Kubernetes sets COUNTERSIGN_SERVICE_HOST and more for a Service named countersign.
    var unknownVariables: [UnknownVariable] {
        let known = Set(rows.map { variable(for: $0.name) } + [Self.fileVariable, StatedOperator.variable])
        return variables.filter { !known.contains($0) }
            .map { UnknownVariable(name: $0, nearest: known.nearest(to: $0)) }
    }
}
