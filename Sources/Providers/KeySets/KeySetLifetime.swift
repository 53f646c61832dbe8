import Curl

/// The freshness lifetime of a fetched key set (RFC 9111 §4.2) in seconds, within our own bounds: a provider can neither
/// make us fetch every second nor make us keep a key for a week.
enum KeySetLifetime {
    static let shortest: Int64 = 300
    static let longest: Int64 = 86_400
    /// The lifetime when none is stated, as Apple has been seen to do.
    static let unstated: Int64 = 3_600

    /// The lifetime that the headers state, within the bounds.
    static func stated(in headers: FetchHeaders) -> Int64 {
        var maximumAge: Int64?
        for directive in headers.all("Cache-Control").flatMap({ $0.split(separator: ",") }) {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" } }
            switch parts.first?.lowercased() {
            case "no-store", "no-cache": return shortest
            case "max-age" where parts.count == 2: maximumAge = seconds(parts[1].filter { $0 != "\"" })
            default: continue
            }
        }
        guard let maximumAge else { return unstated }
        // The part that a cache on the way has already used up.
        let age = headers.first("Age").flatMap(seconds) ?? 0
        return min(max(maximumAge - age, shortest), longest)
    }

    /// Delta-seconds: digits only. A value that doesn't fit counts as a large one (RFC 9111 §1.2.2).
    private static func seconds(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(text) ?? .max, 1 << 40)
    }
}
