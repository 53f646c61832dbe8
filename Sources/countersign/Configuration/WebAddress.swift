import Foundation
import Primitives

/// The parts of a URL that a configuration rule looks at.
struct WebAddress {
    let scheme: String
    let host: String

    /// Nil unless `text` is an absolute URL of one of `schemes`, in printable ASCII, with a host and a port that there can be,
    /// and without user name, fragment or backslash.
    init?(_ text: String, schemes: [String], allowsQuery: Bool = true) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }),
            let components = URLComponents(string: text), let scheme = components.scheme,
            schemes.contains(scheme), let host = components.host, !host.isEmpty,
            components.user == nil, components.password == nil, components.fragment == nil,
            components.port.map({ 1...65_535 ~= $0 }) ?? true, allowsQuery || components.query == nil
        else { return nil }
        self.scheme = scheme
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }

    /// Whether keys and tokens may come from or go to this URL: plain http only inside this machine.
    static func isProviderURL(_ text: String) -> Bool {
        guard let address = WebAddress(text, schemes: ["https", "http"]) else { return false }
        return address.scheme == "https" || address.isLoopback
    }

    /// The path of a URL; empty where there is none.
    static func path(of text: String) -> String { URLComponents(string: text)?.percentEncodedPath ?? "" }

    var isLoopback: Bool { host.isLoopbackHost }
}
