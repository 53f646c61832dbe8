/// A configuration that was read without a fault, and its sources, so that the next one can be compared with it.
struct ConfigurationReading<Section: Sendable>: Sendable {
    let sources: ConfigurationSources
    let section: Section
    /// The files that were read, by the keys that name them: a new content under the old path is a change too.
    private let files: [String: FileContent]
}

extension ConfigurationReading {
    /// - Parameter kept: what is taken for the files of these keys. They aren't opened.
    init(
        of sources: ConfigurationSources, keeping kept: [String: FileContent] = [:],
        _ read: (inout ConfigurationReader) -> Section?
    ) throws(ConfigurationFaults) {
        var reader = ConfigurationReader(sources: sources, keeping: kept)
        let section = read(&reader)
        guard reader.faults.isEmpty, let section else { throw ConfigurationFaults(faults: reader.faults) }
        self.init(sources: sources, section: section, files: kept.merging(reader.files) { $1 })
    }

    func map<Part: Sendable>(_ part: (Section) -> Part) -> ConfigurationReading<Part> {
        ConfigurationReading<Part>(sources: sources, section: part(section), files: files)
    }

    /// What was in the files of these keys.
    fileprivate func contents(of names: [String]) -> [String: FileContent] { files.filter { names.contains($0.key) } }

    /// The keys of `rows` that have another value here than there.
    func changes<Other>(since other: ConfigurationReading<Other>, in rows: [any SettingRow]) -> [String] {
        rows.filter { row in
            !row.isSame(sources.value(of: row.name)?.raw, other.sources.value(of: row.name)?.raw)
                || files[row.name]?.bytes != other.files[row.name]?.bytes
        }.map(\.name)
    }
}

extension SettingRow {
    /// The first part of its name.
    fileprivate var section: String { String(name.prefix { $0 != "." }) }

    /// Whether a new value of the key has no effect before the next start, where these sections wait for it.
    fileprivate func waits(in sections: Set<String>) -> Bool { !reloads || sections.contains(section) }

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
    ///   - running: the configuration that is in effect. What needs a restart is in it as it was at the start.
    init(
        _ newer: ConfigurationSources, running: ConfigurationReading<ReloadableConfiguration>
    ) throws(ConfigurationFaults) {
        let whole = try ConfigurationReading(of: newer, ServiceConfiguration.init)
        let sources = [running.sources, newer]
        let rows = Settings.rows { list in Set(sources.flatMap { $0.names(in: list) }).sorted() }
        // Providers that were switched on or off, and the web sign-in. Some of their parts are made only at the start, as
        // the cache of a provider's keys, and the routes.
        var switched: Set<String> = []
        if running.sources.isAnySet(in: "apple") != newer.isAnySet(in: "apple") { switched.insert("apple") }
        if running.sources.isGoogleOn != newer.isGoogleOn { switched.insert("google") }
        let apps = Settings.Web.apps
        if running.sources.names(in: apps).isEmpty != newer.names(in: apps).isEmpty { switched.insert("web") }
        let (taken, waiting) = try Self.taken(from: newer, beside: running, rows, waiting: switched)
        self.running = taken
        changed = taken.changes(since: running, in: rows)
        pending = whole.changes(since: running, in: rows.filter { $0.waits(in: waiting) })
    }

    /// What is taken of a configuration that is valid as a whole, and the sections of which nothing is: a new value in
    /// them needs another one that waits for the next start. What waits keeps its files too, as they were read.
    private static func taken(
        from newer: ConfigurationSources, beside running: ConfigurationReading<ReloadableConfiguration>,
        _ rows: [any SettingRow], waiting: Set<String>
    ) throws(ConfigurationFaults) -> (ConfigurationReading<ReloadableConfiguration>, waiting: Set<String>) {
        let kept = rows.filter { $0.waits(in: waiting) }.map(\.name)
        do throws(ConfigurationFaults) {
            let reading = try ConfigurationReading(
                of: newer.keeping(kept, of: running.sources), keeping: running.contents(of: kept),
                ReloadableConfiguration.init)
            return (reading, waiting)
        } catch {
            let faulty = rows.filter { row in error.faults.contains { $0.key == row.name } }
            let more = Set(faulty.map { $0.section })
            guard !more.isSubset(of: waiting) else { throw error }
            return try taken(from: newer, beside: running, rows, waiting: waiting.union(more))
        }
    }
}
