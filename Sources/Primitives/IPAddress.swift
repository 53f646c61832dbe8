import Glibc

/// An IP address, with IPv4 as the IPv4-mapped part of IPv6 (RFC 4291 §2.5.5.2), so that one address has one value
/// however it is written.
package struct IPAddress: Hashable, Sendable {
    package let bits: UInt128

    package init(bits: UInt128) { self.bits = bits }

    /// - Parameter octets: the 16 of IPv6, in the order of the network.
    package init(octets: [UInt8]) { bits = octets.reduce(0) { $0 << 8 | UInt128($1) } }

    /// Reads the text form of one address, without port, brackets or zone.
    package init?(_ text: String) {
        var octets = [UInt8](repeating: 0, count: 16)
        if unsafe inet_pton(AF_INET, text, &octets) == 1 {
            octets = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + octets.prefix(4)
        } else if unsafe inet_pton(AF_INET6, text, &octets) != 1 {
            return nil
        }
        self.init(octets: octets)
    }

    package var isIPv4: Bool { bits >> 32 == 0xFFFF }
}

extension IPAddress: CustomStringConvertible {
    package var description: String { text }

    package var text: String {
        let octets = (0..<16).map { UInt8(truncatingIfNeeded: bits >> (120 - 8 * $0)) }
        if isIPv4 { return "\(octets[12]).\(octets[13]).\(octets[14]).\(octets[15])" }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        unsafe inet_ntop(AF_INET6, octets, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The addresses that begin with the same bits.
package struct IPNetwork: Hashable, Sendable {
    private let prefix: UInt128
    private let hostBits: Int

    /// - Parameters:
    ///   - text: an address, or a network as `10.0.0.0/8`.
    ///   - mappedIsIPv4: whether the length beside an address that is written as IPv4-mapped is one of IPv4's 32 bits,
    ///     `::ffff:10.0.0.0/8`, and not of IPv6's 128, `::ffff:10.0.0.0/104`.
    package init?(_ text: String, mappedIsIPv4: Bool = false) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        let isIPv4 = mappedIsIPv4 ? address.isIPv4 : !parts[0].contains(":")
        let width = isIPv4 ? 32 : 128
        guard let length = parts.count == 2 ? Int(parts[1]) : width, 0...width ~= length else { return nil }
        hostBits = width - length
        prefix = address.bits >> hostBits
    }

    package func contains(_ address: IPAddress) -> Bool { address.bits >> hostBits == prefix }
}
