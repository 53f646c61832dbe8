import Glibc

/// An IP address, with IPv4 as the IPv4-mapped part of IPv6 (RFC 4291 §2.5.5.2), so that one address has one value
/// however it is written.
package struct ClientAddress: Hashable, Sendable {
    let bits: UInt128

    static let unspecified = ClientAddress(bits: 0)

    init(bits: UInt128) { self.bits = bits }

    /// Reads the text form of one address, without port, brackets or zone.
    package init?(_ text: String) {
        var octets = [UInt8](repeating: 0, count: MemoryLayout<in6_addr>.size)
        if inet_pton(AF_INET, text, &octets) == 1 {
            bits = 0xFFFF << 32 | Self.integer(octets.prefix(MemoryLayout<in_addr>.size))
        } else if inet_pton(AF_INET6, text, &octets) == 1 {
            bits = Self.integer(octets[...])
        } else {
            return nil
        }
    }

    private static func integer(_ octets: ArraySlice<UInt8>) -> UInt128 {
        octets.reduce(0) { $0 << 8 | UInt128($1) }
    }

    var isIPv4: Bool { bits >> 32 == 0xFFFF }

    /// The bits of ``network``, which no network of the other version shares.
    var networkBits: UInt128 { bits(without: isIPv4 ? 8 : 64) }

    /// The bits of ``wideNetwork``, likewise.
    var wideNetworkBits: UInt128 { bits(without: isIPv4 ? 16 : 80) }

    private func bits(without hostBits: Int) -> UInt128 { (bits >> hostBits) << hostBits }

    /// The network that is usually assigned to one party: `198.51.100.0/24`, `2001:db8:1:2::/64`.
    package var network: String { isIPv4 ? prefix(of: 24) : prefix(of: 64) }

    /// The network that one party can have all of: `198.51.0.0/16`, `2001:db8:1::/48`.
    package var wideNetwork: String { isIPv4 ? prefix(of: 16) : prefix(of: 48) }

    private func prefix(of length: Int) -> String {
        let hostBits = (isIPv4 ? 32 : 128) - length
        return "\(ClientAddress(bits: bits(without: hostBits)))/\(length)"
    }
}

extension ClientAddress: CustomStringConvertible {
    package var description: String { text }

    package var text: String {
        let octets = (0..<16).map { UInt8(truncatingIfNeeded: bits >> (120 - 8 * $0)) }
        if isIPv4 { return "\(octets[12]).\(octets[13]).\(octets[14]).\(octets[15])" }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(AF_INET6, octets, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
