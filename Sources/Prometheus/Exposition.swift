/// A page in the Prometheus text format, version 0.0.4, as it is being written.
struct Exposition {
    enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    private let help: [String: String]
    private(set) var text = ""

    init(help: [String: String] = [:]) {
        self.help = help
    }

    /// Begins the samples of one metric.
    mutating func begin(_ name: String, _ kind: Kind) {
        if let help = help[name] { text += "# HELP \(name) \(help)\n" }
        text += "# TYPE \(name) \(kind.rawValue)\n"
    }

    /// One line.
    mutating func sample(_ name: String, _ labels: Labels, _ value: Double) {
        text += name
        if !labels.text.isEmpty { text += "{\(labels.text)}" }
        text += " \(Self.number(value))\n"
    }

    /// A metric of one sample.
    mutating func metric(_ name: String, _ kind: Kind, _ value: Double) {
        begin(name, kind)
        sample(name, Labels(), value)
    }

    /// As Go's `ParseFloat` reads it, and whole numbers without a fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
        return value.description
    }
}
