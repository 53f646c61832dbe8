import Foundation
import Primitives

/// The addresses to which a browser can be sent back.
enum RedirectURI {
    /// Whether the providers would register it: https with a domain name, which an IP address and localhost are not.
    static func isPublic(_ text: String) -> Bool {
        guard let uri = plain(text), uri.scheme == "https", let host = uri.host?.lowercased(), host.contains("."),
            !host.hasPrefix("["), host != "localhost"
        else { return false }
        return host.split(separator: ".").last?.contains { $0.isLetter } == true
    }

    /// Whether it is on this machine, where a service in development is.
    static func isLoopback(_ text: String) -> Bool {
        guard let uri = plain(text), uri.scheme == "http" || uri.scheme == "https", let host = uri.host else {
            return false
        }
        return (host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host).isLoopbackHost
    }

    /// The URI's parts if it has no fragment, user information, wildcard nor `..`.
    private static func plain(_ text: String) -> URLComponents? {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.contains("*"),
            let uri = URLComponents(string: text), uri.fragment == nil, uri.user == nil, uri.password == nil,
            !uri.path.split(separator: "/").contains("..")
        else { return nil }
        return uri
    }
}

extension ControlMembers {
    /// The URIs of a web client; nil when the request does not name them.
    func redirectURIs() -> [String]? {
        guard let uris = texts("redirectUris") else { return nil }
        if !uris.allSatisfy({ RedirectURI.isPublic($0) || RedirectURI.isLoopback($0) }) {
            refuse(
                "redirectUris must be https with a domain name, or on a loopback address, without a fragment, user "
                    + "information, wildcard or dot segment.")
        }
        return uris
    }
}
