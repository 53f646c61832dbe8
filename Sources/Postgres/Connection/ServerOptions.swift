/// The settings in a connection's `options`, which are words of the server's command line: `-c name=value`,
/// `-cname=value` or `--name=value`, with a backslash before what doesn't end a word (`pg_split_opts`).
struct ServerOptions: Sendable {
    private var settings: [String: String] = [:]

    init(_ text: String) {
        var words = ServerOptions.words(of: text)[...]
        while let word = words.popFirst() {
            let setting: Substring
            if word == "-c" {
                guard let next = words.popFirst() else { return }
                setting = next[...]
            } else if word.hasPrefix("-c") || word.hasPrefix("--") {
                setting = word.dropFirst(2)
            } else {
                continue
            }
            let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            // The last one counts.
            settings[parts[0].replacing("-", with: "_").lowercased()] = String(parts[1])
        }
    }

    subscript(name: String) -> String? { settings[name] }

    /// A time-out as PostgreSQL reads one, in milliseconds where there is no unit; nil for 0, which is no limit, and
    /// for what the server refuses.
    static func duration(_ text: String) -> Duration? {
        let digits = text.drop(while: \.isWhitespace).prefix { $0.isNumber || "+-.".contains($0) }
        let unit = text[digits.endIndex...].filter { !$0.isWhitespace }
        let milliseconds: [String: Double] = [
            "": 1, "us": 0.001, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000,
        ]
        guard let number = Double(digits), let scale = milliseconds[unit] else { return nil }
        let whole = (number * scale).rounded()
        guard whole > 0, whole <= Double(Int32.max) else { return nil }
        return .milliseconds(Int64(whole))
    }

    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isEscaped = false
        for character in text.unicodeScalars {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character.properties.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }
}
