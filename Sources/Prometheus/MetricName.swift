/// What a metric is called on the page. Whatever a label of swift-metrics holds, the name is one that Prometheus reads, and
/// it says what it counts: counters end in `_total`, timers in `_seconds`.
enum MetricName {
    static func ofCounter(_ label: String) -> String { name(label, suffix: "_total") }
    static func ofTimer(_ label: String) -> String { name(label, suffix: "_seconds") }
    static func ofGauge(_ label: String) -> String { plain(label) }
    static func ofHistogram(_ label: String) -> String { plain(label) }

    /// Names with two underscores in front are Prometheus's own, and `le` is the bound of a histogram's bucket.
    static func ofLabel(_ dimension: String) -> String {
        let name = plain(dimension)
        if name == "le" { return "_le" }
        return name.hasPrefix("__") ? "_" + name.drop { $0 == "_" } : name
    }

    private static func name(_ label: String, suffix: String) -> String {
        let name = plain(label)
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// Letters, digits and underscores, not with a digit in front. Colons, which would be allowed, are for the rules of
    /// whoever runs Prometheus.
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
