import Glibc
package import Primitives

/// Which addresses a webhook may be sent to: those that everybody on the internet could be asked at, and those of the networks
/// that the operator names. It is asked for the address of the connection itself, so a name that resolves to another one
/// the next time gets nowhere.
package struct WebhookTargets: Sendable {
    private let allowed: [IPNetwork]

    /// - Parameter allowed: addresses, or networks as `10.0.0.0/8`.
    /// - Returns: `nil` when one of them is neither.
    package init?(allowing allowed: [String]) {
        let blocks = allowed.compactMap { IPNetwork($0) }
        guard blocks.count == allowed.count else { return nil }
        self.allowed = blocks
    }

    /// Those of the internet alone.
    package static let internet = WebhookTargets()

    private init() { allowed = [] }

    /// Whether a connection may go there.
    ///
    /// - Parameter isEncrypted: false for `http`, which goes to the operator's own networks alone.
    package func accept(_ address: IPAddress, isEncrypted: Bool) -> Bool {
        let end = Self.end(of: address)
        if Self.metadata.contains(where: { $0.contains(end) }) { return false }
        if allowed.contains(where: { $0.contains(address) }) { return true }
        return isEncrypted && Self.isGlobalUnicast(address)
    }

    /// Whether the host of a URL is an address to which `http` may not go, in any of the spellings that curl takes for one.
    package func refusesHTTP(to host: String) -> Bool {
        let text = host.hasPrefix("[") ? String(host.dropFirst().prefix { $0 != "]" && $0 != "%" }) : host
        guard let address = IPAddress(text) ?? Self.numbers(text) else { return false }
        return !accept(address, isEncrypted: false)
    }

    /// An address of IPv4 as one to four numbers, decimal, octal or hexadecimal: `2130706433`, `0x7f.1`.
    private static func numbers(_ text: String) -> IPAddress? {
        var address = in_addr()
        guard inet_aton(text, &address) == 1 else { return nil }
        return ipv4(UInt128(UInt32(bigEndian: address.s_addr)))
    }

    /// Where a connection ends: at the address of IPv4 that one of IPv6 stands for, by a translator or a tunnel.
    private static func end(of address: IPAddress) -> IPAddress {
        if translated.contains(where: { $0.contains(address) }) { return ipv4(address.bits) }
        if sixToFour?.contains(address) == true { return ipv4(address.bits >> 80) }
        if teredo?.contains(address) == true { return ipv4(~address.bits) }
        return address
    }

    /// - Parameter bits: of which the last 32 count.
    private static func ipv4(_ bits: UInt128) -> IPAddress { IPAddress(bits: 0xFFFF << 32 | (bits & 0xFFFF_FFFF)) }

    /// The addresses that end with one of IPv4: the compatible ones, and NAT64's.
    private static let translated = ["::/96", "64:ff9b::/96", "64:ff9b:1::/48"].compactMap { IPNetwork($0) }
    private static let sixToFour = IPNetwork("2002::/16")
    private static let teredo = IPNetwork("2001::/32")

    /// Where clouds hand out the credentials of a machine.
    private static let metadata = ["169.254.169.254", "fd00:ec2::254"].compactMap { IPNetwork($0) }

    /// What is not global unicast (IANA's registries of special-purpose addresses), multicast, and whatever embeds an IPv4
    /// address, behind which any of the others may be.
    private static let special = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].compactMap { IPNetwork($0) }

    private static let mapped = IPNetwork("::ffff:0.0.0.0/96")
    private static let global = IPNetwork("2000::/3")

    private static func isGlobalUnicast(_ address: IPAddress) -> Bool {
        let isOfAVersion = mapped?.contains(address) == true || global?.contains(address) == true
        return isOfAVersion && !special.contains { $0.contains(address) }
    }
}
