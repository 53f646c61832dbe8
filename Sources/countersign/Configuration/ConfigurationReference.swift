/// `docs/configuration-keys.md`: every key, as the table that the code validates with has it.
enum ConfigurationReference {
    static var page: String {
        let rows = Settings.rows(teams: ["main", placeholder]).map { row in
            let name = row.name.replacing(".\(placeholder).", with: ".NAME.")
            let cells = [
                "`\(name)`", "`\(variable(of: name))`", (row.isSecret ? "secret: " : "") + row.expectation,
                row.defaultText.map { $0.isEmpty ? "empty" : "`\($0)`" } ?? "none",
                row.reloads ? "yes" : "no", row.summary,
            ]
            return "| " + cells.joined(separator: " | ") + " |"
        }
        return """
            # Configuration keys

            Written by `countersign config reference`: don't edit it. [Configuration](configuration.md) explains each key. \
            *Reload* says whether SIGHUP is enough for a new value.

            | Key | Variable | Accepts | Default | Reload | Meaning |
            |---|---|---|---|---|---|
            \(rows.joined(separator: "\n"))

            """
    }

    /// Stands for any team besides `main`.
    private static let placeholder = "name"

    private static func variable(of name: String) -> String {
        let words = name.replacing("NAME", with: placeholder).map { character in
            character == "." ? "_" : character.isUppercase ? "_\(character)" : character.uppercased()
        }
        return "COUNTERSIGN_" + words.joined()
    }
}
