import Mustache
import Primitives

/// A value on a page as HTML: the text of a person, of an operator or of a client, escaped when it is made.
///
/// Templates write it with three braces. The escaping of swift-mustache itself goes by `Character` and so passes a quote
/// that a combining mark follows; an attribute would end there.
struct HTMLText: Sendable {
    let markup: String

    /// Escapes the five characters of HTML. Drops controls, line separators and the marks that reorder text, by which
    /// one name could look like another.
    init(_ text: String) {
        let kept: String.UnicodeScalarView = text.unicodeScalars.filter { !HTMLText.isDropped($0) }
        markup = String(kept).escapedForHTML
    }

    /// Markup of this target's own.
    init(markup: String) { self.markup = markup }

    /// For text inside of a sentence: its direction doesn't reach the words around it.
    var isolated: HTMLText { HTMLText(markup: "<bdi>\(markup)</bdi>") }

    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}

extension HTMLText: MustacheCustomRenderable, MustacheParent {
    var renderText: String { markup }
    var isNull: Bool { false }

    func child(named name: String) -> Any? { nil }
}
