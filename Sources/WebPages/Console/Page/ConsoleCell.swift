import Accounts

/// A value on a page of the console: a text, a link, a time. What outsiders control is escaped when it is made.
struct ConsoleCell: Sendable {
    enum Tone: String, Sendable {
        case good
        case bad
        case plain
    }

    let markup: HTMLText

    private init(_ markup: String) { self.markup = HTMLText(markup: markup) }

    /// A text of a person, a provider or an operator: its direction doesn't reach what is beside it.
    static func text(_ text: String?) -> ConsoleCell {
        guard let text, !text.isEmpty else { return .none }
        return ConsoleCell(HTMLText(text).isolated.markup)
    }

    static let none = ConsoleCell("–")

    /// An id or a code.
    static func code(_ text: String?) -> ConsoleCell {
        text.map { ConsoleCell("<code>\(HTMLText($0).markup)</code>") } ?? .none
    }

    /// - Parameter title: what it leads to, where its text is only a word for it.
    static func link(_ text: String, to path: String, title: String? = nil) -> ConsoleCell {
        let title = title.map { " title=\"\(HTMLText($0).markup)\"" } ?? ""
        return ConsoleCell("<a href=\"\(HTMLText(path).markup)\"\(title)>\(HTMLText(text).isolated.markup)</a>")
    }

    static func badge(_ text: String, _ tone: Tone = .plain) -> ConsoleCell {
        ConsoleCell("<span class=\"badge \(tone.rawValue)\">\(HTMLText(text).markup)</span>")
    }

    /// In UTC, to the second.
    static func time(_ time: Timestamp?) -> ConsoleCell {
        guard let time else { return .none }
        let text = time.rfc3339
        let shown = text.prefix(19).replacing("T", with: " ")
        return ConsoleCell("<time datetime=\"\(HTMLText(text).markup)\">\(HTMLText(String(shown)).markup)</time>")
    }

    /// A time that is written again only when it is so old: what it notes was then, or up to so much later, before now.
    static func noted(_ time: Timestamp?, everySeconds interval: Int64, at now: Timestamp) -> ConsoleCell {
        guard let time else { return .none }
        let latest = max(time, min(time.advanced(bySeconds: interval), now))
        let (from, to) = (time.rfc3339, latest.rfc3339)
        var shown = String(from.prefix(16)).replacing("T", with: " ")
        if to.prefix(16) != from.prefix(16) { shown += "–\(to.prefix(16).suffix(5))" }
        return ConsoleCell("<time datetime=\"\(HTMLText(from).markup)\">\(HTMLText(shown).markup)</time>")
    }

    static func number(_ number: Int) -> ConsoleCell { ConsoleCell(String(number)) }

    /// Each on a line of its own.
    static func lines(_ cells: [ConsoleCell]) -> ConsoleCell {
        cells.isEmpty ? .none : ConsoleCell(cells.map(\.markup.markup).joined(separator: "<br>"))
    }

    /// Beside each other.
    static func row(_ cells: [ConsoleCell]) -> ConsoleCell {
        cells.isEmpty ? .none : ConsoleCell(cells.map(\.markup.markup).joined(separator: " "))
    }

    /// A button that leads to a page.
    static func button(_ label: String, to path: String, isDangerous: Bool = false) -> ConsoleCell {
        ConsoleCell(
            """
            <form method="get" action="\(HTMLText(path).markup)">\
            <button\(isDangerous ? " class=\"danger\"" : "")>\(HTMLText(label).markup)</button></form>
            """)
    }
}

extension ConsoleCell {
    /// A length of time, in its two largest units.
    static func duration(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3_600: return "\(seconds / 60) min"
        case ..<86_400: return "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
        default: return "\(seconds / 86_400) d \(seconds % 86_400 / 3_600) h"
        }
    }
}
