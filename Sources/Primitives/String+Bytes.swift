extension String {
    /// Whether both have the same bytes of UTF-8: `==` takes canonically equivalent texts for one.
    ///
    /// Not for secrets: it takes longer the more of the beginning is the same.
    package func hasSameBytes(as other: String) -> Bool {
        let (left, right) = (utf8Span.span, other.utf8Span.span)
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    /// The text with the escape before each of these characters, scalar by scalar: a `Character` would hide a quote that a
    /// combining mark follows.
    package func escaping(_ characters: String, with escape: Unicode.Scalar) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if characters.unicodeScalars.contains(scalar) { escaped.append(escape) }
            escaped.append(scalar)
        }
        return String(escaped)
    }
}
