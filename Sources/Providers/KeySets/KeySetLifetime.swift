import Curl

/// How long a fetched key set counts as fresh (RFC 9111 §4.2), within our own bounds: a provider can neither make us
/// ask every second nor make us keep a key for a week.
enum KeySetLifetime {
    static let shortest: Int64 = 300
    static let longest: Int64 = 86_400
    /// Apple has been seen to say nothing.
    static let unstated: Int64 = 3_600

    /// In seconds.
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
        // What a cache on the way has already used up.
        let age = headers.first("Age").flatMap(seconds) ?? 0
        return min(max(maximumAge - age, shortest), longest)
    }

    /// Digits alone. What doesn't fit is merely large (RFC 9111 §1.2.2).
    private static func seconds(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(text) ?? .max, 1 << 40)
    }
}
