/// The mapping from labels of swift-metrics to names that Prometheus accepts, with the conventional suffixes: counters
/// end in `_total`, timers in `_seconds`.
enum MetricName {
    static func ofCounter(_ label: String) -> String { name(label, suffix: "_total") }
    static func ofTimer(_ label: String) -> String { name(label, suffix: "_seconds") }
    static func ofGauge(_ label: String) -> String { plain(label) }
    static func ofHistogram(_ label: String) -> String { plain(label) }

    /// Names that begin with two underscores are reserved for Prometheus; `le` is the bound of a histogram's bucket.
    static func ofLabel(_ dimension: String) -> String {
        let name = plain(dimension)
        if name == "le" { return "_le" }
        return name.hasPrefix("__") ? "_" + name.drop { $0 == "_" } : name
    }

    private static func name(_ label: String, suffix: String) -> String {
        let name = plain(label)
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// Letters, digits and underscores, without a leading digit. Colons are valid too, but Prometheus reserves them for
    /// recording rules.
    private static func plain(_ text: String) -> String {
        var name = String(
            text.unicodeScalars.map { scalar -> Character in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "_": Character(scalar)
                default: "_"
                }
            })
        if name.first?.isNumber ?? true { name = "_" + name }
        return name
    }
}
