/// A reader of typed values that collects their faults; it doesn't stop at the first one.
struct ConfigurationReader {
    let sources: ConfigurationSources
    private(set) var faults: [ConfigurationFault] = []
    /// The files that were read, by the keys that name them.
    private(set) var files: [String: FileContent] = [:]
    /// What these keys' files had when they were read last. They aren't opened again.
    private let kept: [String: FileContent]

    init(sources: ConfigurationSources, keeping files: [String: FileContent] = [:]) {
        self.sources = sources
        kept = files
        faults = sources.unknownKeys()
    }

    /// The value, or the default; a key with neither is required.
    mutating func value<Value>(_ setting: Setting<Value>) -> Value {
        guard let found = sources.value(of: setting.name) else {
            guard let text = setting.defaultText else {
                refuse(setting.name, "is required")
                return setting.form.placeholder
            }
            return parse(.text(text), setting, origin: .builtIn)
        }
        return parse(found.raw, setting, origin: found.origin)
    }

    /// The value, or nil when the key isn't set.
    mutating func optional<Value>(_ setting: Setting<Value>) -> Value? {
        sources.value(of: setting.name).map { parse($0.raw, setting, origin: $0.origin) }
    }

    func isSet(_ name: String) -> Bool { sources.value(of: name) != nil }

    /// Whether a fault of the key is recorded already.
    func isRefused(_ name: String) -> Bool { faults.contains { $0.key == name } }

    /// Records a fault of a key, at the place of its value or, without one, where it could be set.
    mutating func refuse(_ name: String, _ sentence: String) {
        let origin = sources.value(of: name)?.origin ?? sources.origin(ofMissing: name)
        faults.append(ConfigurationFault(key: name, origin: origin, sentence: sentence))
    }

    /// What is in the file of a key: what it had where that is kept, else what `read` finds, nil after a fault.
    mutating func content(
        of setting: Setting<String>, _ read: (inout ConfigurationReader) -> FileContent?
    ) -> [UInt8]? {
        let content: FileContent? = if let kept = kept[setting.name] { kept } else { read(&self) }
        files[setting.name] = content
        return content?.bytes
    }

    private mutating func parse<Value>(
        _ raw: RawValue, _ setting: Setting<Value>, origin: ConfigurationOrigin
    ) -> Value {
        guard let value = setting.parse(raw) else {
            refuse(setting.name, setting.sentence(refusing: raw))
            return setting.form.placeholder
        }
        guard case .file = origin else { return value }
        if setting.isSecret, sources.isExposed(setting.name), setting.form.holdsSecret(raw) {
            refuse(setting.name, "is a secret in a file that others than its owner can open: \(Self.modeAdvice)")
        }
        return sources.folder(of: setting.name).map { setting.form.located(value, $0) } ?? value
    }
}

extension ConfigurationSources {
    /// The section that `section` reads.
    ///
    /// - Throws: all faults in it, and a fault for each unknown key of the file.
    func load<Section: Sendable>(_ section: (inout ConfigurationReader) -> Section?) throws(ConfigurationFaults)
        -> Section
    {
        try ConfigurationReading(of: self, section).section
    }

    /// Whether any key of this section is set, if only to an empty value.
    func isAnySet(in section: String) -> Bool {
        let prefix = section + "."
        return fileKeys.contains { $0.hasPrefix(prefix) }
            || rows.contains { $0.name.hasPrefix(prefix) && value(of: $0.name) != nil }
    }

    /// The names in a list of names, which determine what keys there are.
    func names(in list: Setting<[String]>) -> [String] { value(of: list.name)?.raw.list ?? [] }

    /// Every key that there is under these names.
    var rows: [any SettingRow] { Settings.rows(names(in:)) }

    /// A fault for each name in the file that isn't in the table: a misspelt key would silently keep its default.
    fileprivate func unknownKeys() -> [ConfigurationFault] {
        let known = Set(rows.map(\.name))
        var seen: Set<String> = []
        return fileKeys.compactMap { key in
            let sentence: String
            if !seen.insert(key).inserted {
                sentence = "is there twice"
            } else if known.contains(key) {
                return nil
            } else if known.contains(where: { $0.hasPrefix(key + ".") }) {
                sentence = "is a section: write its keys below it, or remove it"
            } else if let nearest = known.nearest(to: key) {
                sentence = "unknown key; did you mean \(nearest)?"
            } else if let family = Settings.families.first(where: { key.hasPrefix($0.prefix) }) {
                sentence = "unknown key: \(family.flaw)"
            } else {
                sentence = "unknown key; see `countersign config show` for all there are"
            }
            return ConfigurationFault(key: key, origin: .file(filePath ?? ""), sentence: sentence)
        }
    }
}
