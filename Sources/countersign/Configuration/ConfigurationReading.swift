/// A configuration that was read without a fault, and its sources, so that the next one can be compared with it.
struct ConfigurationReading<Section: Sendable>: Sendable {
    let sources: ConfigurationSources
    let section: Section
    /// SHA-256 of each file that was opened, by the key that names it: a new content under the old path is a
    /// change too.
    private let fingerprints: [String: [UInt8]]
}

extension ConfigurationReading {
    init(
        of sources: ConfigurationSources, _ read: (inout ConfigurationReader) -> Section?
    ) throws(ConfigurationFaults) {
        var reader = ConfigurationReader(sources: sources)
        let section = read(&reader)
        guard reader.faults.isEmpty, let section else { throw ConfigurationFaults(faults: reader.faults) }
        self.init(sources: sources, section: section, fingerprints: reader.fingerprints)
    }

    func map<Part: Sendable>(_ part: (Section) -> Part) -> ConfigurationReading<Part> {
        ConfigurationReading<Part>(sources: sources, section: part(section), fingerprints: fingerprints)
    }

    /// The keys of `rows` that have another value here than there.
    func changes<Other>(since other: ConfigurationReading<Other>, in rows: [any SettingRow]) -> [String] {
        rows.filter { row in
            !row.isSame(sources.value(of: row.name)?.raw, other.sources.value(of: row.name)?.raw)
                || fingerprints[row.name] != other.fingerprints[row.name]
        }.map(\.name)
    }
}

extension SettingRow {
    /// The first part of its name.
    fileprivate var section: String { String(name.prefix { $0 != "." }) }

    /// Whether two values of the key, its default when absent, are equal. A list may be written in two ways.
    fileprivate func isSame(_ one: RawValue?, _ other: RawValue?) -> Bool {
        let one = one ?? defaultText.map(RawValue.text)
        let other = other ?? defaultText.map(RawValue.text)
        return switch (one, other) {
        case (.list, _?), (_?, .list): one?.list == other?.list
        default: one == other
        }
    }
}

/// The result of a reload: the configuration that takes effect, and what has changed.
struct ReloadedConfiguration: Sendable {
    /// The configuration that is in effect from now on.
    let running: ConfigurationReading<ReloadableConfiguration>
    /// The keys that have a new value.
    let changed: [String]
    /// The keys that will have another value at the next start.
    let pending: [String]

    /// - Parameters:
    ///   - newer: the current file and environment. They have to be valid as a whole, or nothing of them is taken.
    ///   - start: the configuration that the service started with.
    ///   - running: the one that is in effect.
    init(
        _ newer: ConfigurationSources, start: ConfigurationReading<ServiceConfiguration>,
        running: ConfigurationReading<ReloadableConfiguration>
    ) throws(ConfigurationFaults) {
        let whole = try ConfigurationReading(of: newer, ServiceConfiguration.init)
        let all = [start.sources, running.sources, newer]
        let rows = Settings.rows { list in Set(all.flatMap { $0.names(in: list) }).sorted() }
        // Providers that were switched on or off, and the web sign-in. Some of their parts are made only at the start, as
        // the cache of a provider's keys, and the routes.
        var switched: [String] = []
        if start.sources.isAnySet(in: "apple") != newer.isAnySet(in: "apple") { switched.append("apple") }
        if start.sources.isGoogleOn != newer.isGoogleOn { switched.append("google") }
        let apps = Settings.Web.apps
        if start.sources.names(in: apps).isEmpty != newer.names(in: apps).isEmpty { switched.append("web") }
        func isFixed(_ row: any SettingRow) -> Bool {
            !row.reloads || switched.contains { row.name.hasPrefix($0 + ".") }
        }
        let fixed = rows.filter(isFixed)
        let loose = rows.filter { !isFixed($0) }
        let (taken, waiting) = try Self.taken(
            from: newer.keeping(fixed.map(\.name), of: start.sources), beside: running.sources, rows)
        self.running = taken
        changed = taken.changes(since: running, in: loose)
        pending =
            whole.changes(since: start, in: fixed)
            + whole.changes(since: running, in: loose.filter { waiting.contains($0.section) })
    }

    /// What is taken of a configuration that is valid as a whole, and the sections of which nothing is: a new value in
    /// them needs another one that waits for the next start.
    private static func taken(
        from newer: ConfigurationSources, beside running: ConfigurationSources, _ rows: [any SettingRow],
        waiting: Set<String> = []
    ) throws(ConfigurationFaults) -> (ConfigurationReading<ReloadableConfiguration>, waiting: Set<String>) {
        do throws(ConfigurationFaults) {
            return (try ConfigurationReading(of: newer, ReloadableConfiguration.init), waiting)
        } catch {
            let faulty = rows.filter { row in error.faults.contains { $0.key == row.name } }
            let more = Set(faulty.map { $0.section })
            guard !more.isSubset(of: waiting) else { throw error }
            let names = rows.filter { more.contains($0.section) }.map(\.name)
            return try taken(
                from: newer.keeping(names, of: running), beside: running, rows, waiting: waiting.union(more))
        }
    }
}
