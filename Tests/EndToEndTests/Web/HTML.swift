import Foundation
import Primitives
import Testing

/// A page as a browser without script has it: what can be read, clicked and sent.
struct HTML: Sendable {
    struct Button: Sendable {
        let name: String?
        let value: String
        /// What is read on it.
        let label: String
        /// Where it sends its form instead, `formaction`.
        let action: String?
    }

    struct Input: Sendable {
        let attributes: [String: String]
        var name: String? { attributes["name"] }
        var type: String { attributes["type"]?.lowercased() ?? "text" }
        var value: String { attributes["value"] ?? "" }
    }

    struct Form: Sendable {
        let attributes: [String: String]
        let inputs: [Input]
        let buttons: [Button]
        var action: String { attributes["action"] ?? "" }
        var method: String { attributes["method"]?.uppercased() ?? "GET" }
        /// The path that it is sent to.
        var path: String { String(action.prefix { $0 != "?" && $0 != "#" }) }

        func csrf(_ location: SourceLocation = #_sourceLocation) throws -> String {
            try #require(input("csrf"), sourceLocation: location).value
        }

        func input(_ name: String) -> Input? { inputs.first { $0.name == name } }

        /// The fields that are sent when nobody has typed anything.
        var fields: [(name: String, value: String)] {
            inputs.compactMap { input in
                guard let name = input.name, !["submit", "button", "image"].contains(input.type) else { return nil }
                let isLeft = ["checkbox", "radio"].contains(input.type) && input.attributes["checked"] == nil
                return isLeft ? nil : (name: name, value: input.value)
            }
        }
    }

    struct Link: Sendable {
        let target: String
        let label: String
    }

    let source: String

    init(_ source: String) { self.source = source }

    /// The attributes of the root element.
    var root: [String: String] { elements("html").first?.attributes ?? [:] }

    var title: String { elements("title").first.map { Self.text(of: $0.content) } ?? "" }

    /// All that can be read.
    var text: String { Self.text(of: elements("body").first?.content ?? source) }

    var forms: [Form] {
        elements("form").map { form in
            Form(
                attributes: form.attributes,
                inputs: Self.tags("input", in: form.content).map { Input(attributes: $0) },
                buttons: Self.elements("button", in: form.content).map { button in
                    Button(
                        name: button.attributes["name"], value: button.attributes["value"] ?? "",
                        label: Self.text(of: button.content), action: button.attributes["formaction"])
                })
        }
    }

    var links: [Link] {
        elements("a").compactMap { link in
            link.attributes["href"].map { Link(target: $0, label: Self.text(of: link.content)) }
        }
    }

    /// Where `<meta http-equiv=refresh>` leads.
    var refresh: String? {
        let metas = Self.tags("meta", in: source)
        guard let meta = metas.first(where: { $0["http-equiv"]?.lowercased() == "refresh" }),
            let content = meta["content"], let start = content.range(of: "url=", options: .caseInsensitive)
        else { return nil }
        return String(content[start.upperBound...]).trimmingCharacters(in: CharacterSet(charactersIn: " '\""))
    }

    /// Style sheets, pictures and scripts that it loads.
    var assets: [String] {
        Self.tags("link", in: source).compactMap { $0["href"] }
            + ["img", "script", "iframe", "source"].flatMap { Self.tags($0, in: source).compactMap { $0["src"] } }
    }

    func elements(_ name: String) -> [(attributes: [String: String], content: String)] {
        Self.elements(name, in: source)
    }

    private static func elements(_ name: String, in text: String) -> [(attributes: [String: String], content: String)] {
        guard
            let pattern = try? Regex(
                "(?is)<\(name)(\\s[^>]*)?>(.*?)</\(name)>", as: (Substring, Substring?, Substring).self)
        else { return [] }
        return text.matches(of: pattern).map { (attributes(of: $0.1 ?? ""), String($0.2)) }
    }

    /// The attributes of each tag of this name.
    private static func tags(_ name: String, in text: String) -> [[String: String]] {
        guard let pattern = try? Regex("(?is)<\(name)(\\s[^>]*)?>", as: (Substring, Substring?).self) else { return [] }
        return text.matches(of: pattern).map { attributes(of: $0.1 ?? "") }
    }

    private static func attributes(of tag: Substring) -> [String: String] {
        let pattern = /([A-Za-z][A-Za-z0-9-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/
        var attributes: [String: String] = [:]
        for match in tag.matches(of: pattern) {
            let value = match.2 ?? match.3 ?? match.4 ?? ""
            attributes[match.1.lowercased()] = attributes[match.1.lowercased()] ?? decoded(String(value))
        }
        return attributes
    }

    private static func text(of content: String) -> String {
        decoded(content.replacing(/(?s)<(style|svg|head)\b.*?<\/\1>/, with: " ").replacing(/(?s)<[^>]*>/, with: " "))
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func decoded(_ text: String) -> String {
        text.replacing(/&(?:#x([0-9A-Fa-f]+)|#([0-9]+)|([a-z]+));/) { match in
            if let digits = match.1, let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) {
                return String(Character(scalar))
            }
            if let digits = match.2, let code = UInt32(digits), let scalar = Unicode.Scalar(code) {
                return String(Character(scalar))
            }
            let named = ["lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'", "nbsp": " "]
            return match.3.flatMap { named[String($0)] } ?? String(match.0)
        }
    }
}

/// Names and values as a query and a form have them.
enum FormEncoding {
    /// As browsers send a form: a space is `+`.
    static func encode(_ fields: [(name: String, value: String)]) -> String {
        query(fields).replacing("%20", with: "+")
    }

    /// As in a URL: a space is `%20`.
    static func query(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    static func encode(_ text: String) -> String { PercentEncoding.encode(text) }

    /// The parameters of a URL's query. A `+` stays one: no answer of the service may mean a space by it.
    static func parameters(of url: String) -> [(name: String, value: String)] {
        guard let start = url.firstIndex(of: "?") else { return [] }
        let query = url[url.index(after: start)...].prefix { $0 != "#" }
        return query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (decode(parts[0]), parts.count == 2 ? decode(parts[1]) : "")
        }
    }

    private static func decode(_ text: Substring) -> String { text.removingPercentEncoding ?? String(text) }
}

extension Array where Element == (name: String, value: String) {
    /// A copy in which these are different: `nil` leaves one out, a new one goes to the end.
    func with(_ changes: [String: String?]) -> Self {
        let kept = compactMap { name, value -> Element? in
            guard let change = changes[name] else { return (name: name, value: value) }
            return change.map { (name: name, value: $0) }
        }
        let added = changes.filter { change in !contains { $0.name == change.key } }.sorted { $0.key < $1.key }
        return kept + added.compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}
