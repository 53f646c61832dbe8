/// A writer of the Prometheus text format, version 0.0.4.
struct Exposition {
    enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    private let help: [String: String]
    private(set) var text = ""

    init(help: [String: String] = [:]) { self.help = help }

    /// Writes the `# HELP` and `# TYPE` lines of a metric. Its samples follow.
    mutating func begin(_ name: String, _ kind: Kind) {
        if let help = help[name] { text += "# HELP \(name) \(help)\n" }
        text += "# TYPE \(name) \(kind.rawValue)\n"
    }

    /// Writes one line: a sample of the metric that was begun last.
    mutating func sample(_ name: String, _ labels: Labels, _ value: Double) {
        text += name
        if !labels.text.isEmpty { text += "{\(labels.text)}" }
        text += " \(Self.number(value))\n"
    }

    /// Writes a metric that has a single sample and no labels.
    mutating func metric(_ name: String, _ kind: Kind, _ value: Double) {
        begin(name, kind)
        sample(name, Labels(), value)
    }

    /// A value in a form that Go's `ParseFloat` accepts. Whole numbers have no fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
        return value.description
    }
}
