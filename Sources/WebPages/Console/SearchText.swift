import HTTPServer

/// What was typed into a search, or pasted there with white space or invisible marks around it.
enum SearchText {
    /// The value of a form-encoded parameter, without what is around it. Empty where there is no such parameter.
    /// What can't be read in others does not count.
    ///
    /// - Returns: `nil` for what is no text, came more than once, or is longer.
    static func read(_ name: String, of query: Substring, maximumBytes: Int = .max) -> String? {
        let values = query.split(separator: "&").filter { $0.hasPrefix(name + "=") }
        guard values.count <= 1 else { return nil }
        var value = (values.first?.dropFirst(name.utf8.count + 1)).map { $0.replacing("+", with: "%20")[...] } ?? ""
        // A tab or a line break, which may not be in a value, is cut off before the value is decoded.
        while isSpace(value.prefix(3)) { value = value.dropFirst(3) }
        while isSpace(value.suffix(3)) { value = value.dropLast(3) }
        guard let text = QueryValues("q=\(value)")?.all("q").first else { return nil }
        let trimmed = text.trimmed
        return trimmed.utf8.count <= maximumBytes ? trimmed : nil
    }

    private static func isSpace(_ triplet: Substring) -> Bool {
        ["%20", "%09", "%0A", "%0D"].contains(triplet.uppercased())
    }
}
