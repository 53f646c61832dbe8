import Foundation

/// One migration of the directory: two scripts under one number and name.
struct MigrationPair {
    let version: Int
    let name: String
    var up: String?
    var down: String?

    func fileName(_ direction: String) -> String { "\(fourDigits(version))_\(name).\(direction).sql" }
}

/// A fault that stops the build: the file, and what to do about it.
struct MigrationFileFault: Error {
    let path: String
    let sentence: String
}

/// The directory of `NNNN_verb_object.{up,down}.sql` files, and the rules that make their order unambiguous.
struct MigrationDirectory {
    let path: String

    /// All pairs in ascending order, numbered 0001, 0002, … without a gap, each in both directions.
    func pairs() throws -> [MigrationPair] {
        let url = URL(filePath: path, directoryHint: .isDirectory)
        let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { !$0.hasPrefix(".") }.sorted()
        var pairs: [MigrationPair] = []
        for fileName in names {
            let file = url.appending(path: fileName).path
            guard let match = fileName.wholeMatch(of: /([0-9]{4})_([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\.(up|down)\.sql/),
                let version = Int(match.1)
            else {
                throw MigrationFileFault(
                    path: file,
                    sentence:
                        "a migration is named NNNN_verb_object.up.sql or NNNN_verb_object.down.sql; rename or move it")
            }
            let name = String(match.2)
            let text = try script(at: file)
            if pairs.last?.version != version {
                guard version == pairs.count + 1 else {
                    throw MigrationFileFault(
                        path: file,
                        sentence: "versions have no gap: this one must be numbered \(fourDigits(pairs.count + 1))")
                }
                pairs.append(MigrationPair(version: version, name: name))
            }
            guard pairs[pairs.count - 1].name == name else {
                throw MigrationFileFault(
                    path: file,
                    sentence: "version \(match.1) is already called \(pairs[pairs.count - 1].name); renumber this one")
            }
            if match.3 == "up" {
                pairs[pairs.count - 1].up = text
            } else {
                pairs[pairs.count - 1].down = text
            }
        }
        for pair in pairs where pair.up == nil || pair.down == nil {
            throw MigrationFileFault(
                path: url.appending(path: pair.fileName(pair.up == nil ? "up" : "down")).path,
                sentence: "this half of the migration is missing; write it")
        }
        for pair in pairs where isOutsideTransaction(pair.up) != isOutsideTransaction(pair.down) {
            throw MigrationFileFault(
                path: url.appending(path: pair.fileName(isOutsideTransaction(pair.up) ? "down" : "up")).path,
                sentence:
                    "the other direction runs outside a transaction; begin this one with \"-- no-transaction\" too")
        }
        for pair in pairs where !servesFromIsSound(pair) {
            throw MigrationFileFault(
                path: url.appending(path: pair.fileName("up")).path,
                sentence:
                    "\"-- serves-from: NNNN\" is one line of the comment at the head of the up file, and names this migration "
                    + "or one before it; correct it")
        }
        return pairs
    }

    /// Programs below the level that a `serves-from` line names stop serving, so a misspelt one must not pass for a
    /// comment.
    private func servesFromIsSound(_ pair: MigrationPair) -> Bool {
        guard let up = pair.up, let down = pair.down, !down.contains("serves-from:") else { return false }
        let lines = up.split(separator: "\n", omittingEmptySubsequences: false)
        let marks = lines.indices.filter { lines[$0].contains("serves-from:") }
        guard let mark = marks.first else { return true }
        guard marks.count == 1, lines[..<mark].allSatisfy({ $0.hasPrefix("--") }),
            let match = lines[mark].wholeMatch(of: /-- serves-from: ([0-9]{4})/), let level = Int(match.1)
        else { return false }
        return (1...pair.version).contains(level)
    }

    private func isOutsideTransaction(_ script: String?) -> Bool { script?.hasPrefix("-- no-transaction") ?? false }

    /// Reads a script: text that the compiler and the server read alike, UTF-8 with LF line ends and no other control
    /// than tab. (A Swift literal would turn CRLF into LF, PostgreSQL has no NUL, and either would move the checksum.)
    private func script(at file: String) throws -> String {
        guard let text = String(validating: try Data(contentsOf: URL(filePath: file)), as: UTF8.self) else {
            throw MigrationFileFault(path: file, sentence: "a migration is UTF-8 text; save it as such")
        }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x09 }) else {
            throw MigrationFileFault(
                path: file, sentence: "a migration has LF line ends and no control character but tab; remove the others"
            )
        }
        let firstLine = text.prefix { $0 != "\n" }
        guard firstLine.hasPrefix("-- "), firstLine.dropFirst(3).contains(where: { $0 != " " }) else {
            throw MigrationFileFault(
                path: file, sentence: "the first line says why the migration exists; begin it with \"-- \"")
        }
        guard text.utf8.last == 0x0A else {
            throw MigrationFileFault(path: file, sentence: "the last line has no line end; add one")
        }
        return text
    }
}

func fourDigits(_ version: Int) -> String {
    String(repeating: "0", count: max(0, 4 - String(version).count)) + String(version)
}
