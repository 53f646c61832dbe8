package import Primitives

/// The networks of a client, which have the limits.
extension IPAddress {
    static let unspecified = IPAddress(bits: 0)

    /// The bits of ``network``, which no network of the other version shares.
    var networkBits: UInt128 { bits(without: isIPv4 ? 8 : 64) }

    /// The bits of ``wideNetwork``, likewise.
    var wideNetworkBits: UInt128 { bits(without: isIPv4 ? 16 : 80) }

    /// Whether it is this machine's own, 127.0.0.0/8 or `::1`, or none: it says nothing of a network.
    var isLocal: Bool { isIPv4 ? (bits >> 24) & 0xFF == 127 : bits <= 1 }

    private func bits(without hostBits: Int) -> UInt128 { (bits >> hostBits) << hostBits }

    /// The network that is usually assigned to one party: `198.51.100.0/24`, `2001:db8:1:2::/64`.
    package var network: String { isIPv4 ? prefix(of: 24) : prefix(of: 64) }

    /// The network that one party can have all of: `198.51.0.0/16`, `2001:db8:1::/48`.
    package var wideNetwork: String { isIPv4 ? prefix(of: 16) : prefix(of: 48) }

    private func prefix(of length: Int) -> String {
        let hostBits = (isIPv4 ? 32 : 128) - length
        return "\(IPAddress(bits: bits(without: hostBits)))/\(length)"
    }
}
