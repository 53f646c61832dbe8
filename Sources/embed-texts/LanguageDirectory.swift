import Foundation
import JSON

struct LanguageFile {
    /// BCP 47.
    let tag: String
    let path: String
    /// By section, the texts in the order of the file.
    let sections: [(name: String, texts: [(key: String, text: String)])]

    func texts(of section: String) -> [(key: String, text: String)] {
        sections.first { $0.name == section }?.texts ?? []
    }
}

/// A fault that stops the build: the file, and what to do about it.
struct LanguageFileFault: Error {
    let path: String
    let sentence: String
}

/// The directory of `TAG.json` files. English says which texts there are, and which placeholders each has; every other
/// language has the same.
struct LanguageDirectory {
    static let sections = ["months", "pages", "errors", "failures", "mails"]
    static let months = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ]
    private static let reference = "en"

    let path: String

    /// All languages, English first, then by their tags.
    func languages() throws -> [LanguageFile] {
        let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { !$0.hasPrefix(".") }.sorted()
        var languages: [LanguageFile] = []
        for name in names {
            let file = URL(filePath: path, directoryHint: .isDirectory).appending(path: name).path
            guard let match = name.wholeMatch(of: /([a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-[A-Z]{2})?)\.json/) else {
                throw LanguageFileFault(
                    path: file, sentence: "a language is named by its tag, such as pt-BR.json; rename or move it")
            }
            languages.append(try read(file, tag: String(match.1)))
        }
        guard let english = languages.first(where: { $0.tag == LanguageDirectory.reference }) else {
            throw LanguageFileFault(path: path, sentence: "there is no en.json, which says what texts there are")
        }
        guard english.texts(of: "months").map(\.key) == LanguageDirectory.months else {
            throw LanguageFileFault(path: english.path, sentence: "months are january to december, in this order")
        }
        let others = languages.filter { $0.tag != english.tag }
        for language in others { try compare(language, to: english) }
        return [english] + others
    }

    private func read(_ file: String, tag: String) throws -> LanguageFile {
        let bytes = Array(try Data(contentsOf: URL(filePath: file)))
        let limits = JSONLimits(maximumBytes: 1 << 20, maximumDepth: 3, maximumMembers: 1000)
        guard let members = (try? JSONValue(parsing: bytes, limits: limits))?.members else {
            throw LanguageFileFault(
                path: file, sentence: "a language is one JSON object, in UTF-8, without a name that comes twice")
        }
        guard members.map(\.name) == LanguageDirectory.sections else {
            let sections = LanguageDirectory.sections.joined(separator: ", ")
            throw LanguageFileFault(path: file, sentence: "its sections are \(sections), in this order")
        }
        let sections = try members.map { section in
            let texts = try (section.value.members ?? []).map { member in
                (key: member.name, text: try text(member.value, "\(section.name).\(member.name)", in: file))
            }
            return (name: section.name, texts: texts)
        }
        return LanguageFile(tag: tag, path: file, sections: sections)
    }

    private func text(_ value: JSONValue, _ name: String, in file: String) throws -> String {
        guard let text = value.string, !text.isEmpty, text.first != " ", text.last != " " else {
            throw LanguageFileFault(path: file, sentence: "\(name) is no text, or begins or ends with a space")
        }
        // Of the pages' texts, HTML is made without a further look.
        let words = text.replacing(/\{\{[a-z]+\}\}/, with: "")
        guard name.hasPrefix("mails.") || !words.contains(where: { "<>&\"{}".contains($0) }) else {
            throw LanguageFileFault(
                path: file, sentence: #"\#(name) has one of < > & " { }, or a malformed placeholder"#)
        }
        return text
    }

    private func compare(_ language: LanguageFile, to english: LanguageFile) throws {
        for section in LanguageDirectory.sections {
            let expected = Dictionary(uniqueKeysWithValues: english.texts(of: section).map { ($0.key, $0.text) })
            let texts = Dictionary(uniqueKeysWithValues: language.texts(of: section).map { ($0.key, $0.text) })
            for key in texts.keys.sorted() where expected[key] == nil {
                throw LanguageFileFault(
                    path: language.path, sentence: "\(section).\(key) is not in en.json; remove it, or add it there")
            }
            for (key, original) in english.texts(of: section) {
                guard let text = texts[key] else {
                    throw LanguageFileFault(
                        path: language.path, sentence: "\(section).\(key) is missing; translate “\(original)”")
                }
                let (own, asked) = (placeholders(of: text), placeholders(of: original))
                guard own == asked else {
                    throw LanguageFileFault(
                        path: language.path,
                        sentence:
                            "\(section).\(key) has the placeholders \(own.sorted()), and in en.json \(asked.sorted())")
                }
            }
        }
    }

    private func placeholders(of text: String) -> Set<String> {
        Set(text.matches(of: /\{\{([^}]*)\}\}/).map { String($0.1) })
    }
}
