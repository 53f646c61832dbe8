/// The Swift source that carries the migrations into the binary.
enum EmbeddedSource {
    static func text(of pairs: [MigrationPair]) -> String {
        var source = """
            // Made from Migrations/ by embed-migrations at every build.
            extension Migration {
                /// The schema that this binary knows.
                package static let embedded: [Migration] = [

            """
        for pair in pairs {
            source += """
                Migration(version: \(pair.version), name: "\(pair.name)", up: \(literal(pair.up ?? "")), \
                down: \(literal(pair.down ?? ""))),

                """
        }
        return source + "    ]\n}\n"
    }

    /// A raw literal with one `#` more than the text has in a row: neither a quote nor a backslash in the text can end
    /// it or escape anything.
    private static func literal(_ text: String) -> String {
        var longest = 0
        var run = 0
        for byte in text.utf8 {
            run = byte == UInt8(ascii: "#") ? run + 1 : 0
            longest = max(longest, run)
        }
        let delimiter = String(repeating: "#", count: longest + 1)
        return "\(delimiter)\"\"\"\n\(text)\n\"\"\"\(delimiter)"
    }
}
