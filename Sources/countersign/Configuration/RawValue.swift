import Primitives

/// A value of the file or the environment before it is parsed.
enum RawValue: Equatable, Sendable {
    case text(String)
    /// A YAML sequence; in the environment a list is one text with commas.
    case list([String])
    /// YAML's null, or a sequence with one at this place, counted from 1.
    case null(item: Int?)

    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The items. An empty text is an empty list: the key is set, to nothing.
    var list: [String] {
        switch self {
        case .null:
            []
        case .list(let items):
            items.map { Self.trimmed($0[...]) }
        case .text(let text):
            text.isEmpty
                ? []
                : text.split(separator: ",", omittingEmptySubsequences: false).map(Self.trimmed)
        }
    }

    /// With the letters of ASCII in lower case.
    var lowercased: RawValue {
        func lowercased(_ text: String) -> String { String(decoding: text.utf8.map(\.asciiLowercased), as: UTF8.self) }
        return switch self {
        case .text(let text): .text(lowercased(text))
        case .list(let items): .list(items.map(lowercased))
        case .null: self
        }
    }

    /// Without the spaces around it.
    private static func trimmed(_ item: Substring) -> String {
        String(item.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
