/// The generator of the rows in `docs/configuration.md`: they come from the table that the code validates with. Their
/// order and the text around them are written by hand.
///
/// A row: `| key | variable | accepts | default | reload | meaning |`.
enum ConfigurationReference {
    private static let heading = "| Key | Variable | Accepts | Default | Reload | Meaning |"
    /// Stands for any name of a list of names.
    private static let placeholder = "name"

    /// The page with the rows as the table has them. Keys that the page doesn't name yet are appended, and rows of
    /// unknown keys are removed.
    static func rewritten(_ page: String) -> String {
        var missing = Settings.rows { _ in [placeholder] }
        var lines: [String] = []
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            guard let name = line.firstMatch(of: #/^\| `([A-Za-z]+(?:\.[A-Za-z]+)+)` \| `COUNTERSIGN_/#)?.1 else {
                lines.append(line.hasPrefix("| Key |") ? heading : String(line))
                continue
            }
            guard let index = missing.firstIndex(where: { Self.name(of: $0) == name }) else { continue }
            lines.append(Self.line(of: missing.remove(at: index)))
        }
        if !missing.isEmpty {
            lines += ["## More", "", heading, "|---|---|---|---|---|---|"]
            lines += missing.map(line) + [""]
        }
        return lines.joined(separator: "\n")
    }

    private static func line(of row: any SettingRow) -> String {
        let name = name(of: row)
        let cells = [
            "`\(name)`", "`\(variable(of: name))`", (row.isSecret ? "secret: " : "") + row.expectation,
            row.defaultText.map { $0.isEmpty ? "empty" : "`\($0)`" } ?? row.fallbackDescription ?? "none",
            row.reloads ? "yes" : "no", row.meaning,
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }

    private static func name(of row: any SettingRow) -> String {
        row.name.replacing(".\(placeholder).", with: ".NAME.")
    }

    private static func variable(of name: String) -> String {
        let words = name.replacing("NAME", with: placeholder).map { character in
            character == "." ? "_" : character.isUppercase ? "_\(character)" : character.uppercased()
        }
        return "COUNTERSIGN_" + words.joined()
    }
}
