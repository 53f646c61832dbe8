import Primitives

/// The networks whose `X-Forwarded-For` is trusted.
package struct TrustedProxies: Equatable, Sendable {
    private let networks: [IPNetwork]

    /// No proxy is trusted.
    package static let none = TrustedProxies(networks: [])

    private init(networks: [IPNetwork]) { self.networks = networks }

    /// - Parameter texts: addresses, or networks as `10.0.0.0/8`.
    /// - Returns: nil when one of them is neither.
    package init?(_ texts: [String]) {
        let networks = texts.compactMap { IPNetwork($0, mappedIsIPv4: true) }
        guard networks.count == texts.count else { return nil }
        self.networks = networks
    }

    /// Whether an entry is a network so large that clients are in it with the proxies: `0.0.0.0/0`, or one half of it.
    /// The largest private network is 10.0.0.0/8.
    package static func holdsClients(_ text: String) -> Bool {
        let parts = text.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let length = Int(parts[1]) else { return false }
        return length < (IPAddress(String(parts[0]))?.isIPv4 == true ? 8 : 7)
    }

    func contains(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// The address of the client: that of the peer, unless the peer is a trusted proxy. Then the list of
    /// `X-Forwarded-For` is read from its end, where the trusted proxies append, to the first address that is none of
    /// theirs. Everything further left was written by the client itself.
    func client(of peer: IPAddress, forwardedFor fields: [String]) -> IPAddress {
        var client = peer
        for hop in fields.joined(separator: ",").split(separator: ",").reversed() {
            guard contains(client), let address = Self.address(hop) else { break }
            client = address
        }
        return client
    }

    /// The address in one entry of the list. Some proxies write the port too, and then IPv6 in brackets.
    private static func address(_ entry: Substring) -> IPAddress? {
        let text = String(entry.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        if let address = IPAddress(text) { return address }
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            return IPAddress(String(text[text.index(after: text.startIndex)..<end]))
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? IPAddress(String(parts[0])) : nil
    }
}
