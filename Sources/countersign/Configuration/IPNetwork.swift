import Foundation

/// `10.0.0.0/8`, `2001:db8::/32`, or one address.
enum IPNetwork {
    static func isValid(_ text: String) -> Bool {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let address = parts.first, let bits = bits(of: address) else { return false }
        guard parts.count == 2 else { return true }
        guard parts[1].wholeMatch(of: /0|[1-9][0-9]{0,2}/) != nil, let prefix = Int(parts[1]) else { return false }
        return prefix <= bits
    }

    /// 32 or 128; nil for anything that is no address.
    private static func bits(of address: String) -> Int? {
        var storage = in6_addr()
        if inet_pton(AF_INET, address, &storage) == 1 { return 32 }
        return inet_pton(AF_INET6, address, &storage) == 1 ? 128 : nil
    }
}
