import HTTPServer
import Primitives

/// Whether a request is for the console's own address. A page of another site whose name leads to this address (DNS
/// rebinding) sends its own name.
package struct ConsoleHost: Sendable {
    /// The addresses that the listener answers at, without ports: names in lower case, IP addresses without brackets.
    private let names: Set<String>
    /// Whether it answers at every address of the machine.
    private let isWildcard: Bool
    /// `admin.publicHost`, with the port if it has one.
    private let publicHost: String?

    /// - Parameters:
    ///   - address: where the private listener listens.
    ///   - publicHost: the name, or name and port, at which a proxy serves it.
    package init(address: String, publicHost: String?) {
        let address = address.lowercased()
        isWildcard = ["0.0.0.0", "::"].contains(address)
        names = ["127.0.0.1", "::1", "localhost"].contains(address) ? ["127.0.0.1", "::1", "localhost"] : [address]
        self.publicHost = publicHost?.lowercased()
    }

    /// - Parameter host: the field `Host`.
    func accepts(_ host: String?) -> Bool {
        guard let host = host?.lowercased(), !host.isEmpty else { return false }
        if isPublic(host) { return true }
        let name = Self.name(of: host)
        // A name can be made to lead here, an address can't.
        return names.contains(name) || (isWildcard && (name == "localhost" || ClientAddress(name) != nil))
    }

    /// Whether it came by the proxy.
    func isPublic(_ host: String) -> Bool {
        guard let publicHost else { return false }
        let host = host.lowercased()
        return host == publicHost || (Self.name(of: publicHost) == publicHost && Self.name(of: host) == publicHost)
    }

    private static func name(of host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            return String(host[host.index(after: host.startIndex)..<end])
        }
        guard let colon = host.lastIndex(of: ":"), host.firstIndex(of: ":") == colon,
            host[colon...].dropFirst().utf8.allSatisfy(\.isASCIIDigit)
        else { return host }
        return String(host[..<colon])
    }
}
