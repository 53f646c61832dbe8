/// The Swift source that carries the texts into the binary.
enum EmbeddedTexts {
    static func source(of languages: [LanguageFile]) -> String {
        let keys = languages[0].texts(of: "pages").map(\.key)
        var source = """
            // Made from Sources/Texts/Languages by embed-texts at every build.

            /// The languages, the default one first; the raw value is the tag (BCP 47).
            package enum Language: String, CaseIterable, Sendable {
            \(languages.map { "    case \(identifier($0.tag)) = \"\($0.tag)\"" }.joined(separator: "\n"))
            }

            /// A text of the pages. The raw value is its name in the templates.
            package enum PageText: String, CaseIterable, Sendable {
            \(keys.map { "    case `\($0)`" }.joined(separator: "\n"))
            }

            extension LanguageTexts {
                package static func embedded(_ language: Language) -> LanguageTexts {
                    switch language {
            \(languages.map { "        case .\(identifier($0.tag)): \(identifier($0.tag))" }.joined(separator: "\n"))
                    }
                }

            """
        for language in languages {
            let sections = language.sections.map { section in
                let texts =
                    switch section.name {
                    case "months": inOrder(LanguageDirectory.months, section.texts)
                    case "pages": inOrder(keys, section.texts)
                    default: section.texts.map { "\(literal($0.key)): \(literal($0.text))" }
                    }
                let lines = texts.map { "        \($0)," }
                return "        \(section.name): [\n\(lines.joined(separator: "\n"))\n    ]"
            }
            source += """

                    private static let \(identifier(language.tag)) = LanguageTexts(
                        language: .\(identifier(language.tag)),
                \(sections.joined(separator: ",\n")))

                """
        }
        return source + "}\n"
    }

    private static func inOrder(_ keys: [String], _ texts: [(key: String, text: String)]) -> [String] {
        keys.compactMap { key in texts.first { $0.key == key }.map { literal($0.text) } }
    }

    /// `zh-Hans` as `zhHans`.
    private static func identifier(_ tag: String) -> String {
        let subtags = tag.split(separator: "-")
        return ([subtags[0].lowercased()] + subtags.dropFirst().map { String($0) }).joined()
    }

    /// A literal of which every character but letters, digits, spaces and a few marks is written by its number.
    private static func literal(_ text: String) -> String {
        let written = text.unicodeScalars.map { scalar in
            scalar.properties.isAlphabetic || "0123456789 .,:;?-_{}()’".unicodeScalars.contains(scalar)
                ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
        }
        return "\"\(written.joined())\""
    }
}
