import Accounts
import Postgres

/// What is allowed, and dangerous where it is not meant: `serve` logs it at each start, the doctor reports it.
enum ConfigurationWarning: Equatable, Sendable {
    /// The keys of a provider come from another address than the provider's own, and the service is in public: who
    /// answers at that address signs in as anybody.
    case foreignKeys(Provider, url: String)
    /// The connection string of this key leads across a network, and the server's certificate isn't checked.
    case unverifiedDatabase(key: String, sslmode: String)

    /// For the log.
    var message: String {
        switch self {
        case .foreignKeys: "provider's keys come from another address than the provider's own"
        case .unverifiedDatabase: "database is reached across a network, its certificate unchecked"
        }
    }

    var metadata: [String: String] {
        switch self {
        case .foreignKeys(let provider, let url): ["provider": provider.rawValue, "keysUrl": url]
        case .unverifiedDatabase(let key, let sslmode): ["key": key, "sslmode": sslmode]
        }
    }
}

extension ServiceConfiguration {
    var warnings: [ConfigurationWarning] {
        foreignKeys.map { .foreignKeys($0.provider, url: $0.url) }
            + database.connectionStrings.compactMap { key, url in
                guard case .chosen(let mode) = TransportSecurity(url: url) else { return nil }
                return .unverifiedDatabase(key: key, sslmode: mode)
            }
    }

    /// The providers whose keys come from elsewhere, in a service that the public reaches. The stand-in of tests and demos
    /// is on a loopback address, and so is the service then.
    var foreignKeys: [(provider: Provider, url: String)] {
        guard let address = WebAddress(server.publicURL, schemes: ["https"]), !address.isLoopback else { return [] }
        let urls = [
            (Provider.apple, reloadable.apple?.keysURL, Settings.Apple.keysURL.defaultText),
            (.google, reloadable.google?.keysURL, Settings.Google.keysURL.defaultText),
        ]
        return urls.compactMap { provider, url, own in
            url.flatMap { $0 == own ? nil : (provider, $0) }
        }
    }
}
