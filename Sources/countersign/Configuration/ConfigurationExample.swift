/// A configuration file with every key, each as a comment that can be uncommented by itself, from the table that the code
/// validates with.
///
/// ```yaml
/// # Port of the public listener.
/// # An integer from 1 to 65535. Default: 8080.
/// #server.port: 8080
/// ```
enum ConfigurationExample {
    private static let width = 100

    static var text: String {
        let rows = Settings.exampleRows
        let sections = Dictionary(grouping: rows) { String($0.name.prefix { $0 != "." }) }
        var seen: Set<String> = []
        let order = rows.map { String($0.name.prefix { $0 != "." }) }.filter { seen.insert($0).inserted }
        let blocks = order.flatMap { section in
            ["# \(section) \(String(repeating: "-", count: width - section.count - 3))"]
                + (sections[section] ?? []).map(block)
        }
        return ([head] + blocks).joined(separator: "\n\n") + "\n"
    }

    private static let head = """
        # The configuration of Countersign, with every key. Remove the # before those that you set: required are
        # postgres.url, keyring.path, and clientIds of a provider. Relative paths count from the folder of this file.
        # A variable wins over the file: COUNTERSIGN_SERVER_PORT over server.port. `countersign config check` checks
        # the whole, and `countersign config show` prints what applies and where it comes from.
        # What is marked (reload) is taken on SIGHUP, everything else at the next start.
        """

    private static func block(_ row: any SettingRow) -> String {
        let fallback =
            switch (row.defaultText, row.fallbackDescription) {
            case ("", _): "Default: empty."
            case (let text?, _): "Default: \(text)."
            case (nil, "required"): "Required."
            case (nil, let description?): "Default: \(description)."
            case (nil, nil): "No default."
            }
        let expectation = row.expectation.prefix(1).uppercased() + row.expectation.dropFirst()
        let form = [row.isSecret ? "Secret." : nil, "\(expectation).", fallback, row.reloads ? "(reload)" : nil]
        let value = Settings.examples[row.name] ?? row.defaultText ?? ""
        return
            (comment("\(row.plainMeaning).") + comment(form.compactMap(\.self).joined(separator: " "))
            + ["#\(row.name): \(row.isList ? list(value) : scalar(value))"]).joined(separator: "\n")
    }

    private static func list(_ text: String) -> String {
        "[\(RawValue.text(text).list.map(scalar).joined(separator: ", "))]"
    }

    /// In quotes where YAML could read something else than a text without them.
    private static func scalar(_ text: String) -> String {
        text.wholeMatch(of: /[A-Za-z0-9\/][A-Za-z0-9._\/@+-]*/) == nil ? "\"\(text)\"" : text
    }

    /// Lines of at most `width` characters, broken between words.
    private static func comment(_ text: String) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let line = lines.last, line.count + 1 + word.count <= width {
                lines[lines.count - 1] = "\(line) \(word)"
            } else {
                lines.append("# \(word)")
            }
        }
        return lines
    }
}
