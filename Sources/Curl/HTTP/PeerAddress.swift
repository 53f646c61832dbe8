/// The address that a connection goes to, with IPv4 as the IPv4-mapped part of IPv6 (RFC 4291 §2.5.5.2).
package struct PeerAddress: Hashable, Sendable {
    package let bits: UInt128

    package init(bits: UInt128) {
        self.bits = bits
    }

    init(octets: [UInt8]) {
        bits = octets.reduce(0) { $0 << 8 | UInt128($1) }
    }
}
