import Accounts
import Logging
import Postgres
import Primitives

/// What is allowed, and dangerous where it is not meant: `serve` logs it at each start, and at a reload that brings it; the
/// doctor reports it.
enum ConfigurationWarning: Equatable, Sendable {
    /// The keys of a provider come from another address than the provider's own, and the service is in public: the
    /// server at that address can sign in as any person.
    case foreignKeys(Provider, url: String)
    /// The connection string of this key leads across a network, and the server's certificate isn't checked.
    case unverifiedDatabase(key: String, sslmode: String)
    /// `server.trustedProxies` has a network in which clients are too, each of whom then chooses its address.
    case clientsTrusted(network: String)
    /// The private listener, which speaks plain HTTP, is not on a loopback address.
    case exposedPrivateListener(host: String)

    /// For people: key, what is dangerous about it, and why.
    var sentence: String {
        switch self {
        case .foreignKeys(let provider, let url):
            "\(provider.rawValue).keysUrl is not the provider's own address (\(url)): what answers there signs in as anybody"
        case .unverifiedDatabase(let key, let sslmode):
            "\(key) leads across a network with sslmode=\(sslmode), which checks no host name"
        case .clientsTrusted(let network):
            "server.trustedProxies trusts \(network), and clients with it: each of them can forge its address"
        case .exposedPrivateListener(let host):
            "admin.host is \(host), no loopback address: admin keys cross the network in clear, and /metrics is open to it"
        }
    }

    func log(to logger: Logger) { logger.warning("\(message)", metadata: metadata.mapValues { "\($0)" }) }

    private var message: String {
        switch self {
        case .foreignKeys: "provider's keys come from another address than the provider's own"
        case .unverifiedDatabase: "database is reached across a network, its certificate unchecked"
        case .clientsTrusted: "clients are trusted as proxies, so each of them can forge its address"
        case .exposedPrivateListener: "private listener is on no loopback address"
        }
    }

    private var metadata: [String: String] {
        switch self {
        case .foreignKeys(let provider, let url): ["provider": provider.rawValue, "keysUrl": url]
        case .unverifiedDatabase(let key, let sslmode): ["key": key, "sslmode": sslmode]
        case .clientsTrusted(let network): ["key": Settings.Server.trustedProxies.name, "network": network]
        case .exposedPrivateListener(let host): ["key": Settings.Admin.host.name, "host": host]
        }
    }
}

extension ServiceConfiguration {
    var warnings: [ConfigurationWarning] {
        foreignKeys.map { .foreignKeys($0.provider, url: $0.url) }
            + database.connectionStrings.compactMap { key, url in
                guard case .chosen(let mode) = TransportSecurity(url: url) else { return nil }
                return .unverifiedDatabase(key: key, sslmode: mode)
            } + exposures
    }

    /// What the addresses of the listeners and of the proxies open.
    private var exposures: [ConfigurationWarning] {
        let trusted = server.clientsTrusted.map { ConfigurationWarning.clientsTrusted(network: $0) }
        return admin.host.isLoopbackHost ? trusted : trusted + [.exposedPrivateListener(host: admin.host)]
    }

    /// The providers whose keys come from elsewhere, in a service that the public reaches. The stand-in of tests and demos
    /// is on a loopback address, and so is the service then.
    var foreignKeys: [(provider: Provider, url: String)] {
        guard let address = WebAddress(server.publicURL, schemes: ["https"]), !address.isLoopback else { return [] }
        let urls = [
            (Provider.apple, reloadable.keysURL(of: .apple), Settings.Apple.keysURL.defaultText),
            (.google, reloadable.keysURL(of: .google), Settings.Google.keysURL.defaultText),
        ]
        return urls.compactMap { provider, url, own in
            url.flatMap { $0 == own ? nil : (provider, $0) }
        }
    }
}
