import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Where tokens may go: over https, to named hosts. Plain http is for the loopback interface, where a switch allows it.
struct SecureHosts: Sendable {
    private let hosts: Set<String>
    private let allowsLoopbackHTTP: Bool

    init(_ hosts: Set<String>, allowsLoopbackHTTP: Bool) {
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.allowsLoopbackHTTP = allowsLoopbackHTTP
    }

    /// Throws unless a request to this URL can't be read on its way.
    static func checkScheme(_ url: URL?, allowsLoopbackHTTP: Bool = false) throws(SessionError) {
        guard let url, let host = host(of: url) else { throw .insecureRequest }
        switch url.scheme?.lowercased() {
        case "https": return
        case "http" where allowsLoopbackHTTP && ["127.0.0.1", "::1", "localhost"].contains(host): return
        default: throw .insecureRequest
        }
    }

    /// Throws unless a token may go to this URL.
    func check(_ url: URL?) throws(SessionError) {
        try Self.checkScheme(url, allowsLoopbackHTTP: allowsLoopbackHTTP)
        guard let host = url.flatMap(Self.host), hosts.contains(host) else {
            throw .refused(code: "foreign_host", status: 0)
        }
    }

    /// In lower case, IPv6 without brackets; nil without one.
    static func host(of url: URL) -> String? {
        guard let host = url.host, !host.isEmpty else { return nil }
        return host.trimmingCharacters(in: CharacterSet(charactersIn: "[]")).lowercased()
    }
}

extension URLRequest {
    /// Replaces whatever the request says of authorization, in any spelling, by a bearer token.
    mutating func setBearer(_ token: String) {
        for name in (allHTTPHeaderFields ?? [:]).keys where name.lowercased() == "authorization" {
            setValue(nil, forHTTPHeaderField: name)
        }
        setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    }
}
