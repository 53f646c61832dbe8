import Accounts
import ArgumentParser
import Curl
import Logging
import Primitives
import Providers

struct AppleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple", abstract: "Calls Apple with the configured signing keys.",
        subcommands: [ClientSecret.self, AppleTransferCommand.self])

    struct ClientSecret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "client-secret",
            abstract: "Prints a client_secret, good for 45 minutes: to try Apple's endpoints by hand.")

        @OptionGroup var options: ConfigurationOptions
        @Option(name: .customLong("client-id"), help: "One of the configured bundle or service IDs.")
        var clientID: String

        func run() async throws {
            try await withAppleEndpoint(options) { endpoint in
                printLine(try endpoint.secret(for: clientID))
            }
        }
    }
}

/// Runs the body with Apple's token endpoint as it is configured.
func withAppleEndpoint<Result: Sendable>(
    _ options: ConfigurationOptions, _ body: (AppleTokenEndpoint) async throws -> Result
) async throws -> Result {
    let configuration = try options.sources().load { reader in
        let apple = AppleConfiguration(from: &reader)
        if apple?.teams.contains(where: { $0.signing != nil }) != true {
            let main = Settings.Apple.Team("main")
            for name in [main.teamID.name, main.keyID.name, main.privateKeyPath.name, main.clientIDs.name]
            where !reader.isSet(name) && !reader.isRefused(name) {
                reader.refuse(name, "is required to call Apple")
            }
        }
        return apple
    }
    let logger = Logger.standardError
    let fetcher = try CurlFetcher()
    return try await closing(fetcher.shutdown) {
        let provider = AppleProvider(
            configuration: .init(configuration), fetcher: fetcher, clock: SystemClock(), logger: logger)
        guard
            let endpoint = AppleTokenEndpoint(configuration, provider: provider, fetcher: fetcher, logger: logger)
        else { throw CommandFailure("No Apple team has a signing key.") }
        return try await body(endpoint)
    }
}

extension AppleTokenEndpoint {
    /// The client_secret of one of our clients.
    ///
    /// - Throws: `UsageFault` if no team with a signing key has this client.
    func secret(for clientID: String) throws -> String {
        do {
            return try clientSecret(for: ProviderClientID(clientID), at: SystemClock().now())
        } catch .notConfigured {
            throw UsageFault(clientID)
        }
    }

    /// The realm of the team that has this client.
    ///
    /// - Throws: `UsageFault` if there is none.
    func realm(ofTeamWith clientID: String) throws -> Realm {
        guard let realm = realm(of: ProviderClientID(clientID)) else { throw UsageFault(clientID) }
        return realm
    }
}

extension UsageFault {
    fileprivate init(_ clientID: String) {
        self.init(sentence: "--client-id \(clientID) is no client of an Apple team that has a signing key")
    }
}
