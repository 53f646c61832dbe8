/// A page, read strictly: every element closed in order, every attribute in double quotes, nothing left over.
struct HTMLDocument {
    struct Element {
        let name: String
        let attributes: [String: String]
        /// The elements around it, the root first.
        let path: [String]
        /// All text inside of it, spaces folded.
        var text = ""
    }

    struct Malformed: Error {
        let reason: String
    }

    private(set) var elements: [Element] = []

    private static let void: Set = ["meta", "link", "input", "img", "br", "path"]

    init(_ bytes: [UInt8]) throws {
        var rest = Substring(String(decoding: bytes, as: UTF8.self))
        guard rest.hasPrefix("<!DOCTYPE html>\n") else { throw Malformed(reason: "no doctype") }
        rest.removeFirst("<!DOCTYPE html>\n".count)
        var open: [Int] = []
        while !rest.isEmpty {
            let text = rest.prefix { $0 != "<" }
            guard !text.contains(">") else { throw Malformed(reason: "a bare > in \(text)") }
            for index in open { elements[index].text += text }
            rest = rest.dropFirst(text.count)
            guard let end = rest.firstIndex(of: ">") else { break }
            let tag = rest[..<end].dropFirst()
            rest = rest[end...].dropFirst()
            if tag.first == "/" {
                guard let last = open.popLast(), elements[last].name == tag.dropFirst() else {
                    throw Malformed(reason: "</\(tag.dropFirst())> closes nothing")
                }
            } else {
                let element = try HTMLDocument.element(tag, in: open.map { elements[$0].name })
                elements.append(element)
                if !HTMLDocument.void.contains(element.name) { open.append(elements.count - 1) }
            }
        }
        guard open.isEmpty else { throw Malformed(reason: "\(elements[open[0]].name) stays open") }
        for index in elements.indices {
            elements[index].text = elements[index].text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
    }

    private static func element(_ tag: Substring, in path: [String]) throws -> Element {
        var rest = tag.drop { $0 != " " }
        let name = tag.prefix { $0 != " " }
        guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber) }) else {
            throw Malformed(reason: "no element: \(tag)")
        }
        var attributes: [String: String] = [:]
        while true {
            rest = rest.drop { $0 == " " }
            guard !rest.isEmpty, rest != "/" else { break }
            let attribute = rest.prefix { $0 != "=" && $0 != " " && $0 != "/" }
            rest = rest.dropFirst(attribute.count)
            var value = ""
            if rest.hasPrefix("=\"") {
                rest = rest.dropFirst(2)
                guard let end = rest.firstIndex(of: "\"") else { throw Malformed(reason: "unquoted: \(tag)") }
                value = String(rest[..<end])
                rest = rest[end...].dropFirst()
                guard rest.isEmpty || rest.hasPrefix(" ") || rest == "/" else {
                    throw Malformed(reason: "no space: \(tag)")
                }
            }
            guard attributes.updateValue(value, forKey: String(attribute)) == nil else {
                throw Malformed(reason: "\(attribute) twice: \(tag)")
            }
        }
        return Element(name: String(name), attributes: attributes, path: path)
    }

    func all(_ name: String) -> [Element] { elements.filter { $0.name == name } }

    /// The elements with the names of their attributes: the same for every value that is only text.
    var shape: [String] { elements.map { ([$0.name] + $0.attributes.keys.sorted()).joined(separator: " ") } }
}
