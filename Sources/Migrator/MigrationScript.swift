/// The text of one direction of a migration.
package struct MigrationScript: Sendable, Equatable {
    package let text: String

    /// False when the first line begins with `-- no-transaction`: PostgreSQL refuses some statements, above all
    /// `CREATE INDEX CONCURRENTLY`, inside a transaction block. Such a script may be interrupted anywhere and is then run
    /// again from its start, so each of its statements has to be repeatable (`IF NOT EXISTS`, `IF EXISTS`).
    package var isTransactional: Bool { !text.prefix { $0 != "\n" }.hasPrefix("-- no-transaction") }

    /// The oldest level whose programs can serve on the schema that this up script leaves, where a level is the number
    /// of the last migration that a program knows. Named by a line `-- serves-from: 0018` of the comment at its head;
    /// absent where every earlier program can serve, which is the rule.
    package var servesFrom: Int? {
        for line in head where line.hasPrefix("-- serves-from:") {
            if let match = line.wholeMatch(of: /-- serves-from: ([0-9]{4})/) { return Int(match.1) }
        }
        return nil
    }

    /// A form of an earlier migration that may have been applied, and that this up script puts right.
    struct Mended: Hashable {
        let version: Int
        let checksum: String
    }

    /// Named by lines `-- mends: 0026 CHECKSUM` of the comment at the head.
    var mended: [Mended] {
        head.compactMap { line in
            guard line.hasPrefix("-- mends:"),
                let match = line.wholeMatch(of: /-- mends: ([0-9]{4}) ([0-9a-f]{64})/), let version = Int(match.1)
            else {
                return nil
            }
            return Mended(version: version, checksum: String(match.2))
        }
    }

    /// The lines of the comment at the beginning.
    private var head: [Substring] {
        var lines: [Substring] = []
        var rest = text[...]
        while rest.hasPrefix("--") {
            lines.append(rest.prefix { $0 != "\n" })
            rest = rest[lines[lines.count - 1].endIndex...].dropFirst()
        }
        return lines
    }

    /// The statements, one by one. Outside a transaction they are sent singly, because the server runs a message of
    /// several statements as one transaction.
    package var statements: [SQLStatement] { SQLStatement.split(text) }

    /// The first word of a statement that would end the transaction around the script, and with it the guarantee that a
    /// script and its bookkeeping take effect together.
    var transactionControl: String? {
        for statement in statements {
            let words = statement.tokens.map { $0.uppercased() }
            switch words.first {
            case "ABORT", "BEGIN", "COMMIT", "END", "START":
                return words.first
            case "ROLLBACK" where !words.contains("TO"):  // ROLLBACK TO a savepoint stays inside
                return words.first
            case "PREPARE" where words.dropFirst().first == "TRANSACTION":
                return "PREPARE TRANSACTION"
            default:
                continue
            }
        }
        return nil
    }

    /// The names, as the catalog has them, of the tables, views and sequences that this script creates; not those of a
    /// `DO` block.
    var relations: [String] { created { $0.skip("TABLE") || $0.skip("VIEW") || $0.skip("SEQUENCE") } }

    /// The names of the functions that this script creates, likewise.
    var functions: [String] { created { $0.skip("FUNCTION") } }

    /// - Parameter kind: removes the words of a kind of object from the front. Returns whether they were there.
    private func created(_ kind: (inout ArraySlice<String>) -> Bool) -> [String] {
        statements.compactMap { statement in
            var words = statement.tokens[...]
            guard words.skip("CREATE") else { return nil }
            while words.skip("OR", "REPLACE") || words.skip("UNLOGGED") || words.skip("MATERIALIZED") {}
            guard kind(&words) else { return nil }
            _ = words.skip("IF", "NOT", "EXISTS")
            guard let name = words.first else { return nil }
            return name.hasPrefix("\"") ? String(name.dropFirst().dropLast()) : name.lowercased()
        }
    }

    /// The names, as written, of the indexes that this script builds concurrently. An interrupted build leaves such an
    /// index behind, invalid: never used by a query, yet maintained by every write, and `IF NOT EXISTS` accepts it.
    var concurrentIndexes: [String] {
        statements.compactMap { statement in
            var words = statement.tokens[...]
            guard words.skip("CREATE") else { return nil }
            _ = words.skip("UNIQUE")
            guard words.skip("INDEX", "CONCURRENTLY") else { return nil }
            _ = words.skip("IF", "NOT", "EXISTS")
            // Without a name the server chooses one that is free, so a second build is not hindered.
            return words.first?.uppercased() == "ON" ? nil : words.first
        }
    }
}

extension ArraySlice<String> {
    /// Removes these words from the front, written in whichever case.
    ///
    /// - Returns: whether they were there.
    fileprivate mutating func skip(_ words: String...) -> Bool {
        guard prefix(words.count).map({ $0.uppercased() }) == words else { return false }
        removeFirst(words.count)
        return true
    }
}
