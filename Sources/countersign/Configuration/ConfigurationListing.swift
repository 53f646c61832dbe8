/// The effective configuration, without its secrets.
struct ConfigurationListing {
    /// The value of each key, empty where it has none.
    let values: [(name: String, value: String)]

    init(sources: ConfigurationSources) {
        values = sources.rows.map { ($0.name, ConfigurationListing.shown($0, in: sources)) }
    }

    /// One line per key, with where its value comes from and what it is for.
    static func lines(of sources: ConfigurationSources) -> [String] {
        sources.rows.map { row in
            let found = sources.value(of: row.name)
            let origin = found?.origin ?? (row.defaultText == nil ? nil : .builtIn)
            let absence = "not set" + (row.fallbackDescription.map { ": \($0)" } ?? "")
            let source = origin.map { "\($0)" } ?? absence
            return "\(row.name): \(quoted(shown(row, in: sources)))  # \(source). \(row.plainMeaning)"
        }
    }

    private static func shown(_ row: any SettingRow, in sources: ConfigurationSources) -> String {
        switch (sources.value(of: row.name)?.raw, row.defaultText) {
        // That a secret is set is no secret, and is worth showing.
        case (_?, _) where row.isSecret: "<redacted>"
        // Not shown, for it may be a secret that was written under the wrong key.
        case (let raw?, _) where !row.accepts(raw): "<not valid>"
        // Nor this, for it may be the secret itself in the place of its file's name.
        case (.text(let text)?, _)
        where row.namesFile && !ConfigurationReader.isShowable(text, naming: sources.path(of: row) ?? text):
            "<names no file>"
        case (.text(let text)?, _): text
        case (let raw?, _): raw.list.joined(separator: ",")
        case (nil, let text?): text
        case (nil, nil): ""
        }
    }

    /// A value on one line, whatever is in it.
    private static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

extension ConfigurationReader {
    /// A fault for every value that its key can't take, whichever command uses it.
    mutating func refuseUnacceptable() {
        for row in sources.rows {
            guard let found = sources.value(of: row.name), !row.accepts(found.raw) else { continue }
            refuse(row.name, row.sentence(refusing: found.raw))
        }
    }
}
