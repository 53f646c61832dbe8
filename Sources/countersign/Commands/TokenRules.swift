import Accounts
import Curl
import Foundation
import JOSE
import Providers

/// The rules by which `token verify` accepts a token.
enum TokenRules: Sendable {
    /// A signature by one of these keys, and nothing more.
    case signature(KeySource)
    /// Everything that sign-in requires of a token.
    case identity(any IdentityProvider)

    static func signature(of provider: Provider?, keys: KeySet?, _ sources: ConfigurationSources) throws -> TokenRules {
        if let keys { return .signature(.fixed(keys)) }
        let setting = provider == .google ? Settings.Google.keysURL : Settings.Apple.keysURL
        let url = try sources.load { $0.value(setting) }
        return .signature(try fetched(provider ?? .apple, url))
    }

    static func identity(
        of provider: Provider?, clientIDs: [ProviderClientID], keys: KeySet?, _ sources: ConfigurationSources
    ) throws -> TokenRules {
        switch provider {
        case .apple?:
            let configuration = try sources.load { reader in
                AppleProvider.Configuration(
                    teams: clientIDs.isEmpty ? reader.appleTeams() : [.init(clientIDs: clientIDs)],
                    issuers: reader.value(Settings.Apple.issuers), keysURL: reader.value(Settings.Apple.keysURL),
                    nonceForm: reader.value(Settings.Apple.nonceForm))
            }
            try require(configuration.teams.flatMap { $0.clientIDs }, "apple.clientIds")
            let source = try keys.map(KeySource.fixed) ?? fetched(.apple, configuration.keysURL)
            return .identity(AppleProvider(configuration: configuration, keys: source))
        case .google?:
            let configuration = try sources.load { reader in
                GoogleProvider.Configuration(
                    clientIDs: clientIDs.isEmpty ? reader.googleClientIDs() : clientIDs,
                    authorizedParties: reader.value(Settings.Google.authorizedParties).map { ProviderClientID($0) },
                    hostedDomains: reader.value(Settings.Google.hostedDomains),
                    issuers: reader.value(Settings.Google.issuers), keysURL: reader.value(Settings.Google.keysURL),
                    nonceForm: reader.value(Settings.Google.nonceForm))
            }
            try require(configuration.clientIDs, "google.clientIds")
            let source = try keys.map(KeySource.fixed) ?? fetched(.google, configuration.keysURL)
            return .identity(GoogleProvider(configuration: configuration, keys: source))
        case nil:
            throw UsageFault(sentence: "--provider apple or --provider google is needed")
        }
    }

    /// Without an audience of ours the token of any app would be valid, so this check can't be skipped.
    private static func require(_ clientIDs: [ProviderClientID], _ key: String) throws {
        guard !clientIDs.isEmpty else {
            throw UsageFault(sentence: "--client-id, or \(key) in the configuration, says whose tokens are accepted")
        }
    }

    private static func fetched(_ provider: Provider, _ url: String) throws -> KeySource {
        .cache(
            KeySetCache(
                provider: provider, url: url, fetcher: try CurlFetcher(), clock: SystemClock(), logger: .standardError))
    }
}

extension ConfigurationReader {
    fileprivate mutating func appleTeams() -> [AppleProvider.Configuration.Team] {
        value(Settings.Apple.teams).compactMap { name in
            let settings = Settings.Apple.Team(name)
            let all = (optional(settings.clientIDs) ?? []).including(optional(settings.servicesID))
            return all.isEmpty ? nil : .init(realm: Realm(name), clientIDs: all.map { ProviderClientID($0) })
        }
    }

    fileprivate mutating func googleClientIDs() -> [ProviderClientID] {
        googleProjects().flatMap { name in
            let settings = Settings.Google.Project(name)
            return (optional(settings.clientIDs) ?? []).including(optional(settings.serverClientID))
        }.map { ProviderClientID($0) }
    }
}

extension KeySet {
    /// The keys in a file. A file without a usable key is an empty set: then every token is rejected as `key_unknown`.
    init(file path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path),
            let data = try? handle.read(upToCount: KeySet.maximumBytes + 1) ?? Data()
        else { throw UsageFault(sentence: "--jwks \(path): the file can't be read") }
        self = (try? KeySet(parsing: [UInt8](data))) ?? .empty
    }
}
