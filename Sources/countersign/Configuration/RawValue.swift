/// A value of the file or the environment before it is parsed.
enum RawValue: Equatable, Sendable {
    case text(String)
    /// A YAML sequence; in the environment a list is one text with commas.
    case list([String])

    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The items. An empty text is an empty list: the key is set, to nothing.
    var list: [String] {
        switch self {
        case .list(let items):
            items
        case .text(let text):
            text.isEmpty
                ? []
                : text.split(separator: ",", omittingEmptySubsequences: false).map {
                    String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
                }
        }
    }
}
