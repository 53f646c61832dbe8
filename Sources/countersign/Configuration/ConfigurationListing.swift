/// The effective configuration, one line per key.
struct ConfigurationListing {
    let lines: [String]

    init(sources: ConfigurationSources) {
        lines = sources.rows.map { row in
            let found = sources.value(of: row.name)
            let value: String
            switch (found?.raw, row.defaultText) {
            // That a secret is set is no secret, and is worth showing.
            case (_?, _) where row.isSecret: value = "<redacted>"
            // Not shown, for it may be a secret that was written under the wrong key.
            case (let raw?, _) where !row.accepts(raw): value = "<not valid>"
            case (.text(let text)?, _): value = text
            case (.list(let items)?, _): value = items.joined(separator: ",")
            case (nil, let text?): value = text
            case (nil, nil): value = ""
            }
            let origin = found?.origin ?? (row.defaultText == nil ? nil : .builtIn)
            let absence = "not set" + (row.fallbackDescription.map { ": \($0)" } ?? "")
            // The relative links of the page don't work here.
            let meaning = row.meaning.replacing(/\[([^\]]+)\]\([^)]+\)/) { $0.1 }
            return
                "\(row.name): \(ConfigurationListing.quoted(value))  # \(origin.map { "\($0)" } ?? absence). \(meaning)"
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
            refuse(row.name, "expects \(row.expectation)")
        }
    }
}
