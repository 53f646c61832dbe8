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
}
