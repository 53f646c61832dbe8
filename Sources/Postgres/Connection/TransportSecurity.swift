import Glibc
import Primitives

/// Who can read and change what passes between this process and the server, as a connection string says.
///
/// libpq's own choice, `prefer`, takes TLS where the server offers it and looks at no certificate: it doesn't protect
/// from a man in the middle (PostgreSQL manual, §34.19.1).
package enum TransportSecurity: Equatable, Sendable {
    /// Every host is a socket or a loopback address.
    case local
    /// `verify-full`: the server's certificate is checked, and that it is of the host.
    case verified
    /// Another `sslmode` that was chosen for a host across a network.
    case chosen(String)
    /// A host across a network, or one that only a service file names, and no `sslmode`.
    case unstated

    /// - Returns: `nil` when libpq can't read the connection string.
    package init?(url: String) {
        guard let given = ConnectionParameters.parse(url) else { return nil }
        // What the string leaves out, libpq takes from these variables.
        func parameter(_ keyword: String, _ variable: String) -> String? {
            if let value = given[keyword] { return value }
            return unsafe getenv(variable).map { unsafe String(cString: $0) }
        }
        // Of a service we see the name alone, and not what is set in its file.
        let hosts = parameter("hostaddr", "PGHOSTADDR") ?? parameter("host", "PGHOST")
        let isService = parameter("service", "PGSERVICE") != nil
        let isLocal = (hosts ?? "").split(separator: ",").allSatisfy { Self.isLocal($0) }
        guard !isLocal || (hosts == nil && isService) else {
            self = .local
            return
        }
        switch parameter("sslmode", "PGSSLMODE") {
        case "verify-full": self = .verified
        case let mode?: self = .chosen(mode)
        case nil: self = .unstated
        }
    }

    /// A socket's directory begins with a slash, an abstract socket with an at sign.
    private static func isLocal(_ host: Substring) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@") || host.isLoopbackHost
    }
}
