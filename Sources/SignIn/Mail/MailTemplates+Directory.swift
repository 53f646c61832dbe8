import Accounts
import Foundation

/// All faults of a directory of templates.
package struct MailTemplateFaults: Error, Sendable {
    /// Sentences, each with the file in front.
    package let sentences: [String]
}

extension MailTemplates {
    private static let maximumBytes = 65_536

    /// The built-in templates, replaced and complemented by those of a directory: `LANGUAGE/KIND.txt`, whose first line is
    /// `Subject: …`, and `LANGUAGE/KIND.html`. A language that is not built in must have all kinds.
    package init(serviceName: String, directory: String) throws(MailTemplateFaults) {
        var reader = DirectoryReader(path: directory)
        let mails = reader.read()
        guard reader.faults.isEmpty else { throw MailTemplateFaults(sentences: reader.faults) }
        self.init(serviceName: serviceName, adding: mails)
    }

    /// The reader of a directory. It checks every entry: a misspelt name would silently leave the built-in mail in use.
    private struct DirectoryReader {
        let path: String
        private(set) var faults: [String] = []

        init(path: String) { self.path = path }

        mutating func read() -> [String: [Mail.Kind: LocalizedMail]] {
            guard let languages = entries(of: path) else {
                faults.append("names no directory that can be read")
                return [:]
            }
            var mails: [String: [Mail.Kind: LocalizedMail]] = [:]
            for language in languages {
                guard language.wholeMatch(of: /[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*/) != nil,
                    let files = entries(of: "\(path)/\(language)")
                else {
                    faults.append("\(language): is no directory named after a language, such as en or pt-BR")
                    continue
                }
                // Languages are matched in any case, so of two spellings one would never be chosen.
                let known = BuiltInMail.languages + mails.keys
                if let other = known.first(where: { $0 != language && $0.lowercased() == language.lowercased() }) {
                    faults.append("\(language): is the language \(other) in another case")
                    continue
                }
                mails[language] = read(language, Set(files))
            }
            return mails
        }

        private mutating func read(_ language: String, _ files: Set<String>) -> [Mail.Kind: LocalizedMail] {
            var unknown = files
            var mails: [Mail.Kind: LocalizedMail] = [:]
            let isBuiltIn = BuiltInMail.languages.contains(language)
            for kind in Mail.Kind.allCases {
                let pair = ["\(kind.rawValue).txt", "\(kind.rawValue).html"]
                unknown.subtract(pair)
                let missing = pair.filter { !files.contains($0) }
                if missing.isEmpty {
                    mails[kind] = read(kind, text: "\(language)/\(pair[0])", html: "\(language)/\(pair[1])")
                } else if missing.count == 1 {
                    faults.append("\(language)/\(missing[0]): is missing beside the other of its pair")
                } else if !isBuiltIn {
                    faults.append("\(language): lacks \(pair[0]) and \(pair[1]); a language is complete or not there")
                }
            }
            faults += unknown.sorted().map { "\(language)/\($0): is no template; there is no kind of that name" }
            return mails
        }

        private mutating func read(_ kind: Mail.Kind, text: String, html: String) -> LocalizedMail? {
            guard let plain = content(of: text), let page = content(of: html) else { return nil }
            let lines = plain.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            let subject = lines[0].dropFirst("Subject:".count).trimmingCharacters(in: .whitespaces)
            guard lines[0].hasPrefix("Subject:"), !subject.isEmpty, lines.count == 2 else {
                faults.append("\(text): begins with no line \"Subject: …\" and a text after it")
                return nil
            }
            // An empty line between subject and text belongs to neither.
            let body = lines[1].hasPrefix("\n") ? lines[1].dropFirst() : lines[1]
            guard let subject = template(subject, for: kind, in: text),
                let text = template(String(body), for: kind, in: text, isComplete: true),
                let html = template(page, for: kind, in: html, isComplete: true)
            else { return nil }
            return LocalizedMail(subject: subject, text: text, html: html)
        }

        /// - Parameter isComplete: whether it needs the code of a kind that carries one.
        private mutating func template(
            _ content: String, for kind: Mail.Kind, in file: String, isComplete: Bool = false
        ) -> MailTemplate? {
            do {
                let template = try MailTemplate(content, allowed: kind.placeholders)
                if !isComplete || kind.purpose == nil || template.contains(.code) { return template }
                faults.append("\(file): lacks {{code}}")
            } catch {
                faults.append("\(file): \(error.sentence)")
            }
            return nil
        }

        private mutating func content(of file: String) -> String? {
            // Symbolic links are followed: directories of secrets and settings are mounted with them.
            let target = URL(filePath: "\(path)/\(file)").resolvingSymlinksInPath().path
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: target),
                attributes[.type] as? FileAttributeType == .typeRegular,
                let handle = FileHandle(forReadingAtPath: target),
                let data = try? handle.read(upToCount: MailTemplates.maximumBytes + 1) ?? Data()
            else {
                faults.append("\(file): can't be read")
                return nil
            }
            guard data.count <= MailTemplates.maximumBytes else {
                faults.append("\(file): is larger than 64 KiB")
                return nil
            }
            guard let text = String(validating: data, as: UTF8.self) else {
                faults.append("\(file): is not UTF-8")
                return nil
            }
            // By scalars: to Swift CR LF is one character, and not a newline.
            var scalars = String.UnicodeScalarView()
            for scalar in text.unicodeScalars where scalar != "\r" { scalars.append(scalar) }
            guard scalars.allSatisfy({ $0.properties.generalCategory != .control || $0 == "\n" || $0 == "\t" }) else {
                faults.append("\(file): holds control characters")
                return nil
            }
            return String(scalars)
        }

        /// The entries of a directory. Names that begin with a dot belong to the tool that mounts or manages it.
        private func entries(of path: String) -> [String]? {
            try? FileManager.default.contentsOfDirectory(atPath: path).filter { !$0.hasPrefix(".") }.sorted()
        }
    }
}
