import HTTPServer
import Primitives

/// The public listener.
struct ServerConfiguration: Sendable {
    let host: String
    let port: Int
    /// Without slashes at its end.
    let publicURL: String
    let trustedProxies: TrustedProxies
    /// The entries of `server.trustedProxies` that hold clients as well.
    let clientsTrusted: [String]
    let drainSeconds: Int
    /// 0 for no limit.
    let connectionsPerNetwork: Int

    init(from reader: inout ConfigurationReader) {
        host = reader.value(Settings.Server.host)
        port = reader.value(Settings.Server.port)
        let proxies = reader.value(Settings.Server.trustedProxies)
        // Each entry was validated by its setting.
        trustedProxies = TrustedProxies(proxies) ?? .none
        clientsTrusted = proxies.filter(TrustedProxies.holdsClients)
        drainSeconds = reader.value(Settings.Server.drainSeconds)
        connectionsPerNetwork = reader.value(Settings.Limits.connectionsPerNetwork)
        if var url = reader.optional(Settings.Server.publicURL) {
            while url.hasSuffix("/") { url.removeLast() }
            publicURL = url
        } else {
            publicURL = "http://127.0.0.1:\(port)"
            if !host.isEmpty, !host.isLoopbackHost {
                reader.refuse(Settings.Server.publicURL.name, "is required when server.host is no loopback address")
            }
        }
    }
}

/// The private listener, and the extra one for health.
struct AdminConfiguration: Sendable {
    let host: String
    let port: Int
    let healthPort: Int?
    let publicHost: String?

    init(from reader: inout ConfigurationReader, server: ServerConfiguration) {
        host = reader.value(Settings.Admin.host)
        port = reader.value(Settings.Admin.port)
        healthPort = reader.optional(Settings.Admin.healthPort)
        publicHost = reader.optional(Settings.Admin.publicHost)
        // What stands for a value that can't be read is no port of a listener.
        let publicPort = reader.isRefused(Settings.Server.port.name) ? nil : server.port
        let privatePort = reader.isRefused(Settings.Admin.port.name) ? nil : port
        if let privatePort, privatePort == publicPort {
            reader.refuse(Settings.Admin.port.name, "is the port of the public listener: choose another")
        }
        if let healthPort, !reader.isRefused(Settings.Admin.healthPort.name),
            healthPort == publicPort || healthPort == privatePort
        {
            reader.refuse(Settings.Admin.healthPort.name, "is the port of another listener: choose another")
        }
    }
}
