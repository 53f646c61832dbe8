/// The networks whose `X-Forwarded-For` is trusted.
package struct TrustedProxies: Equatable, Sendable {
    private struct Network: Equatable, Sendable {
        let prefix: UInt128
        let hostBits: Int

        func contains(_ address: ClientAddress) -> Bool { address.bits >> hostBits == prefix }
    }

    private let networks: [Network]

    /// No proxy is trusted.
    package static let none = TrustedProxies(networks: [])

    private init(networks: [Network]) { self.networks = networks }

    /// - Parameter texts: addresses, or networks as `10.0.0.0/8`.
    /// - Returns: nil when one of them is neither.
    package init?(_ texts: [String]) {
        var networks: [Network] = []
        for text in texts {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let address = ClientAddress(String(parts[0])) else { return nil }
            let width = address.isIPv4 ? 32 : 128
            guard let length = parts.count == 2 ? Int(parts[1]) : width, 0...width ~= length else { return nil }
            let hostBits = width - length
            networks.append(Network(prefix: address.bits >> hostBits, hostBits: hostBits))
        }
        self.networks = networks
    }

    /// Whether an entry is a network so large that clients are in it with the proxies: `0.0.0.0/0`, or one half of it.
    /// The largest private network is 10.0.0.0/8.
    package static func holdsClients(_ text: String) -> Bool {
        let parts = text.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let length = Int(parts[1]) else { return false }
        return length < (ClientAddress(String(parts[0]))?.isIPv4 == true ? 8 : 7)
    }

    func contains(_ address: ClientAddress) -> Bool {
        networks.contains { $0.contains(address) }
    }

    /// The address of the client: that of the peer, unless the peer is a trusted proxy. Then the list of
    /// `X-Forwarded-For` is read from its end, where the trusted proxies append, to the first address that is none of
    /// theirs. Everything further left was written by the client itself.
    func client(of peer: ClientAddress, forwardedFor fields: [String]) -> ClientAddress {
        var client = peer
        for hop in fields.joined(separator: ",").split(separator: ",").reversed() {
            guard contains(client), let address = Self.address(hop) else { break }
            client = address
        }
        return client
    }

    /// The address in one entry of the list. Some proxies write the port too, and then IPv6 in brackets.
    private static func address(_ entry: Substring) -> ClientAddress? {
        let text = String(entry.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        if let address = ClientAddress(text) { return address }
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            return ClientAddress(String(text[text.index(after: text.startIndex)..<end]))
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? ClientAddress(String(parts[0])) : nil
    }
}
