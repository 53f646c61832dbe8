package import Curl
import Glibc

/// Which addresses a webhook may be sent to: those that everybody on the internet could be asked at, and those of the networks
/// that the operator names. It is asked for the address of the connection itself, so a name that resolves to another one
/// the next time gets nowhere.
package struct WebhookTargets: Sendable {
    private let allowed: [AddressBlock]

    /// - Parameter allowed: addresses, or networks as `10.0.0.0/8`.
    /// - Returns: `nil` when one of them is neither.
    package init?(allowing allowed: [String]) {
        let blocks = allowed.compactMap(AddressBlock.init)
        guard blocks.count == allowed.count else { return nil }
        self.allowed = blocks
    }

    /// Those of the internet alone.
    package static let internet = WebhookTargets()

    private init() { allowed = [] }

    /// Whether a connection may go there.
    ///
    /// - Parameter isEncrypted: false for `http`, which goes to the operator's own networks alone.
    package func accept(_ address: PeerAddress, isEncrypted: Bool) -> Bool {
        if Self.metadata.contains(where: { $0.contains(address.bits) }) { return false }
        if allowed.contains(where: { $0.contains(address.bits) }) { return true }
        return isEncrypted && Self.isGlobalUnicast(address.bits)
    }

    /// Whether the host of a URL is an address to which `http` may not go, in any of the spellings that curl takes for one.
    package func refusesHTTP(to host: String) -> Bool {
        let text = host.hasPrefix("[") ? String(host.dropFirst().prefix { $0 != "]" && $0 != "%" }) : host
        guard let bits = AddressBlock(text)?.prefix ?? Self.numbers(text) else { return false }
        return !accept(PeerAddress(bits: bits), isEncrypted: false)
    }

    /// An address of IPv4 as one to four numbers, decimal, octal or hexadecimal: `2130706433`, `0x7f.1`.
    private static func numbers(_ text: String) -> UInt128? {
        var address = in_addr()
        guard inet_aton(text, &address) == 1 else { return nil }
        return 0xFFFF << 32 | UInt128(UInt32(bigEndian: address.s_addr))
    }

    /// Where clouds hand out the credentials of a machine.
    private static let metadata = ["169.254.169.254", "fd00:ec2::254"].compactMap(AddressBlock.init)

    /// What is not global unicast (IANA's registries of special-purpose addresses), multicast, and whatever embeds an IPv4
    /// address, behind which any of the others may be.
    private static let special = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].compactMap(AddressBlock.init)

    private static let mapped = AddressBlock("::ffff:0.0.0.0/96")
    private static let global = AddressBlock("2000::/3")

    private static func isGlobalUnicast(_ bits: UInt128) -> Bool {
        let isOfAVersion = mapped?.contains(bits) == true || global?.contains(bits) == true
        return isOfAVersion && !special.contains { $0.contains(bits) }
    }
}

/// An address, or a network: IPv4 as the mapped part of IPv6.
struct AddressBlock: Sendable {
    let prefix: UInt128
    private let hostBits: Int

    init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var octets = [UInt8](repeating: 0, count: MemoryLayout<in6_addr>.size)
        let base = String(parts[0])
        let offset: Int
        if inet_pton(AF_INET, base, &octets) == 1 {
            octets = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + octets.prefix(4)
            offset = 96
        } else if inet_pton(AF_INET6, base, &octets) == 1 {
            offset = 0
        } else {
            return nil
        }
        guard let length = parts.count == 2 ? Int(parts[1]) : 128 - offset, 0...(128 - offset) ~= length else {
            return nil
        }
        hostBits = 128 - offset - length
        let bits = octets.reduce(0 as UInt128) { $0 << 8 | UInt128($1) }
        prefix = (bits >> hostBits) << hostBits
    }

    func contains(_ bits: UInt128) -> Bool { bits >> hostBits == prefix >> hostBits }
}
