/// The labels of a series, as written between the braces of a sample. They are sorted by name, so that the same
/// dimensions are the same series in any order.
struct Labels: Hashable, Comparable {
    /// `method="GET",route="/v1/account"`.
    private(set) var text = ""

    init() {}

    /// - Parameter dimensions: those of swift-metrics. The first of two with one name counts: a sample has each name
    ///   once.
    init(_ dimensions: [(String, String)]) {
        var values: [String: String] = [:]
        for (name, value) in dimensions {
            let name = MetricName.ofLabel(name)
            if values[name] == nil { values[name] = value }
        }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { append(name, value) }
    }

    func with(_ name: String, _ value: String) -> Labels {
        var labels = self
        labels.append(name, value)
        return labels
    }

    private mutating func append(_ name: String, _ value: String) {
        if !text.isEmpty { text += "," }
        text += "\(name)=\"\(Self.escaped(value))\""
    }

    /// A label's value with backslash, quote and line feed escaped. All else is allowed in it, as UTF-8.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    static func < (one: Labels, other: Labels) -> Bool { one.text < other.text }
}
