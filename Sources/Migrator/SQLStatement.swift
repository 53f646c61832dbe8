/// One statement of a script.
package struct SQLStatement: Sendable, Equatable {
    /// Without the closing semicolon; comments stay.
    package let text: String
    /// The first tokens outside comments, as written: enough to recognise the kind of statement.
    let tokens: [String]

    private static let tokenLimit = 12

    /// `CREATE` or `DROP INDEX CONCURRENTLY`, or another statement that says so early on.
    var isConcurrent: Bool { tokens.contains { $0.uppercased() == "CONCURRENTLY" } }

    /// Splits a script at the semicolons that end a statement: not those in strings, quoted names, comments and
    /// parentheses (a rule's actions), nor those in the `BEGIN ATOMIC … END` body of a function. psql splits by the
    /// same rules. Pieces without a token, such as a trailing comment, are no statements.
    static func split(_ script: String) -> [SQLStatement] {
        let bytes = Array(script.utf8)
        var lexer = SQLLexer(bytes: bytes)
        var statements: [SQLStatement] = []
        var start = 0
        var tokens: [String] = []
        var parentheses = 0
        var blocks = 0

        func cut(at end: Int) {
            if !tokens.isEmpty {
                statements.append(
                    SQLStatement(text: String(decoding: bytes[start..<end], as: UTF8.self), tokens: tokens))
            }
            tokens = []
        }

        while let range = lexer.next() {
            let token = String(decoding: bytes[range], as: UTF8.self)
            switch token.uppercased() {
            case ";" where parentheses <= 0 && blocks <= 0:
                cut(at: range.lowerBound)
                start = range.upperBound
                continue
            case "(": parentheses += 1
            case ")": parentheses -= 1
            case "ATOMIC" where definesRoutine(tokens): blocks += 1
            case "CASE" where blocks > 0: blocks += 1
            case "END" where blocks > 0: blocks -= 1
            default: break
            }
            if tokens.count < tokenLimit { tokens.append(token) }
        }
        cut(at: bytes.count)
        return statements
    }

    private static func definesRoutine(_ tokens: [String]) -> Bool {
        let words = tokens.prefix(4).map { $0.uppercased() }
        return words.first == "CREATE" && (words.contains("FUNCTION") || words.contains("PROCEDURE"))
    }
}
