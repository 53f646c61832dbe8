/// `docs/configuration.md`: what its tables say of a key comes from the table that the code validates with, and what a key
/// is for is written there by hand.
///
/// A row: `| key | variable | accepts | default | reload | meaning |`.
enum ConfigurationReference {
    private static let heading = "| Key | Variable | Accepts | Default | Reload | Meaning |"
    /// Stands for any team besides `main`.
    private static let placeholder = "name"

    /// The page with the rows as the table has them. A key that the page doesn't name yet stands at the end, under its
    /// summary, and one that is no key is gone.
    static func rewritten(_ page: String) -> String {
        var missing = Settings.rows(teams: ["main", placeholder])
        var lines: [String] = []
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            guard let name = line.firstMatch(of: #/^\| `([A-Za-z]+(?:\.[A-Za-z]+)+)` \| `COUNTERSIGN_/#)?.1 else {
                lines.append(line.hasPrefix("| Key |") ? heading : String(line))
                continue
            }
            guard let index = missing.firstIndex(where: { Self.name(of: $0) == name }) else { continue }
            let meaning = line.split(separator: " | ").last.map { String($0).replacing(" |", with: "") }
            lines.append(Self.line(of: missing.remove(at: index), meaning: meaning))
        }
        if !missing.isEmpty {
            lines += ["## More", "", heading, "|---|---|---|---|---|---|"]
            lines += missing.map { line(of: $0, meaning: $0.summary) } + [""]
        }
        return lines.joined(separator: "\n")
    }

    private static func line(of row: any SettingRow, meaning: String?) -> String {
        let name = name(of: row)
        let cells = [
            "`\(name)`", "`\(variable(of: name))`", (row.isSecret ? "secret: " : "") + row.expectation,
            row.defaultText.map { $0.isEmpty ? "empty" : "`\($0)`" } ?? "none", row.reloads ? "yes" : "no",
            meaning ?? row.summary,
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
