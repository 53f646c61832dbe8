import Primitives

/// Whether a request is for the console's own address. A page of another site whose name leads to this address (DNS
/// rebinding) sends its own name.
package struct ConsoleHost: Sendable {
    /// A name in lower case, or an IP address, which is the same however it is written.
    private enum Name: Hashable {
        case text(String)
        case address(IPAddress)

        /// - Parameter text: without port and brackets.
        init(_ text: some StringProtocol) {
            let text = text.lowercased()
            self = IPAddress(text).map(Name.address) ?? .text(text)
        }

        var isAddress: Bool { if case .address = self { true } else { false } }
    }

    private static let loopback: Set<Name> = [Name("localhost"), Name("127.0.0.1"), Name("::1")]
    private static let wildcards: Set<Name> = [Name("0.0.0.0"), Name("::")]

    /// What the listener answers at. Loopback is always among them: no page of another site has one of these names, and an SSH
    /// tunnel or a container's published port leads from there to a listener elsewhere.
    private let names: Set<Name>
    /// Whether it answers at every address of the machine.
    private let isWildcard: Bool
    /// `admin.publicHost`, with the port if it has one.
    private let publicHost: String?

    /// - Parameters:
    ///   - address: where the private listener listens.
    ///   - publicHost: the name, or name and port, at which a proxy serves it.
    package init(address: String, publicHost: String?) {
        let name = Name(address)
        isWildcard = Self.wildcards.contains(name)
        names = Self.loopback.union([name])
        self.publicHost = publicHost
    }

    /// - Parameter host: the field `Host`.
    func accepts(_ host: String?) -> Bool {
        guard let host, !host.isEmpty else { return false }
        if isPublic(host) { return true }
        let name = Self.parts(of: host).name
        // A name can be made to lead here, an address can't.
        return names.contains(name) || isWildcard && name.isAddress
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

    /// The name, and the port; none for those that browsers leave out.
    private static func parts(of host: String) -> (name: Name, port: String?) {
        let name: Substring
        var rest: Substring
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            name = host[..<end].dropFirst()
            rest = host[end...].dropFirst()
        } else {
            name = host.prefix { $0 != ":" }
            rest = host[name.endIndex...]
        }
        guard let separator = rest.popFirst() else { return (Name(name), nil) }
        guard separator == ":", !rest.isEmpty, rest.utf8.allSatisfy(\.isASCIIDigit) else { return (Name(host), nil) }
        return (Name(name), rest == "443" || rest == "80" ? nil : String(rest))
    }
}
