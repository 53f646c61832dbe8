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
        self.publicHost = publicHost
    }

    /// - Parameter host: the field `Host`.
    func accepts(_ host: String?) -> Bool {
        guard let host, !host.isEmpty else { return false }
        if isPublic(host) { return true }
        let name = Self.parts(of: host).name
        // A name can be made to lead here, an address can't.
        return names.contains(name) || (isWildcard && (name == "localhost" || ClientAddress(name) != nil))
    }

    /// Whether browsers reach it over https.
    var isSecure: Bool { publicHost != nil }

    /// Where the console is in a browser, without a path: by the proxy if there is one, else at the listener itself.
    ///
    /// - Parameter host: one that is accepted.
    func origin(_ host: String) -> String { publicHost.map { "https://\($0)" } ?? "http://\(host)" }

    /// Whether it came by the proxy.
    func isPublic(_ host: String) -> Bool {
        guard let publicHost else { return false }
        let (own, other) = (Self.parts(of: publicHost), Self.parts(of: host))
        // Without a port it is good for any: browsers leave out the scheme's own.
        return own.name == other.name && (own.port == nil || own.port == other.port)
    }

    /// The name in lower case, an IPv6 address without brackets, and the port; none for those that browsers leave out.
    private static func parts(of host: String) -> (name: String, port: String?) {
        let host = host.lowercased()
        let name: Substring
        var rest: Substring
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            name = host[..<end].dropFirst()
            rest = host[end...].dropFirst()
        } else {
            name = host.prefix { $0 != ":" }
            rest = host[name.endIndex...]
        }
        guard let separator = rest.popFirst() else { return (String(name), nil) }
        guard separator == ":", !rest.isEmpty, rest.utf8.allSatisfy(\.isASCIIDigit) else { return (host, nil) }
        return (String(name), rest == "443" || rest == "80" ? nil : String(rest))
    }
}
