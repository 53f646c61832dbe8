import Accounts
import ArgumentParser
import Curl
import Logging
import Providers

struct AppleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple", abstract: "Speaks to Apple as this service's clients.",
        subcommands: [ClientSecret.self, AppleTransferCommand.self])

    struct ClientSecret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "client-secret",
            abstract: "Prints a client_secret, good for an hour: to try Apple's endpoints by hand.")

        @OptionGroup var options: ConfigurationOptions
        @Option(name: .customLong("client-id"), help: "One of the configured bundle or service IDs.")
        var clientID: String

        func run() async throws {
            try await withAppleEndpoint(options) { endpoint in
                print(try endpoint.secret(for: clientID))
            }
        }
    }
}

/// Apple's token endpoint as the configuration has it.
func withAppleEndpoint<Result: Sendable>(
    _ options: ConfigurationOptions, _ body: (AppleTokenEndpoint) async throws -> Result
) async throws -> Result {
    let configuration = try options.sources().load { reader in
        let apple = AppleConfiguration(from: &reader)
        if apple?.teams.contains(where: { $0.signing != nil }) != true {
            let main = Settings.Apple.team("main")
            for row in main.rows where !reader.isSet(row.name) {
                reader.refuse(row.name, "is required to speak to Apple")
            }
        }
        return apple
    }
    let logger = Logger(label: "countersign", factory: { StreamLogHandler.standardError(label: $0) })
    let fetcher = try CurlFetcher()
    do {
        let provider = AppleProvider(
            configuration: .init(configuration), fetcher: fetcher, clock: SystemClock(), logger: logger)
        guard
            let endpoint = AppleTokenEndpoint(configuration, provider: provider, fetcher: fetcher, logger: logger)
        else { throw CommandFailure("No Apple team has a signing key.") }
        let result = try await body(endpoint)
        await fetcher.shutdown()
        return result
    } catch {
        await fetcher.shutdown()
        throw error
    }
}

extension AppleTokenEndpoint {
    /// A secret for one of our clients, or a sentence that says why there is none.
    func secret(for clientID: String) throws -> String {
        do {
            return try clientSecret(for: clientID, at: SystemClock().now())
        } catch .notConfigured {
            throw UsageFault(clientID)
        }
    }

    func realm(ofTeamWith clientID: String) throws -> Realm {
        guard let realm = realm(of: clientID) else { throw UsageFault(clientID) }
        return realm
    }
}

extension UsageFault {
    fileprivate init(_ clientID: String) {
        self.init(sentence: "--client-id \(clientID) is no client of an Apple team that has a signing key")
    }
}
