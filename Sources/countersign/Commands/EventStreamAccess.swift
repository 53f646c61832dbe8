import ArgumentParser
import Curl
import Primitives
import Providers

/// The options of every command of `google risc`.
struct EventStreamOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions
    @Option(name: .customLong("api-url"), help: "Google's RISC API, or what stands in for it.")
    var apiURL = GoogleEventStream.apiURL

    func validate() throws {
        guard WebAddress.isProviderURL(apiURL) else {
            throw ValidationError("--api-url is an https: URL (http: only with a loopback host)")
        }
    }
}

/// Access to Google's RISC API with the configured service account, and what the service requires of events.
struct EventStreamAccess {
    let stream: GoogleEventStream
    let configuration: EventStreamConfiguration
    let fetcher: any Fetcher

    /// Warns when Google's discovery document names another issuer or other keys than are configured: events would be
    /// refused.
    func warnOfMismatch() async {
        let url = configuration.configurationURL
        guard let discovery = await GoogleEventDiscovery(at: url, fetcher: fetcher) else {
            printNotice(
                "warning: \(url) (google.riscConfigurationUrl) can't be read: issuer and keys were not compared")
            return
        }
        if !discovery.names(oneOf: configuration.issuers) {
            printNotice("warning: \(url) names an issuer that google.issuers lacks: events will be refused")
        }
        if !discovery.names(keysURL: configuration.keysURL) {
            printNotice("warning: \(url) names another key address than google.keysUrl: events may be refused")
        }
    }
}

/// The part of the configuration that `google risc` needs.
struct EventStreamConfiguration: Sendable {
    let account: GoogleServiceAccount
    let issuers: [String]
    let keysURL: String
    let configurationURL: String

    init?(from reader: inout ConfigurationReader) {
        issuers = reader.value(Settings.Google.issuers)
        keysURL = reader.value(Settings.Google.keysURL)
        configurationURL = reader.value(Settings.Google.riscConfigurationURL)
        let path = reader.value(Settings.Google.serviceAccountPath)
        guard let account = reader.serviceAccount(path) else { return nil }
        self.account = account
    }
}

/// Runs the body with access to the event stream. A refusal of Google's is thrown as a `CommandFailure`.
func withEventStream(_ options: EventStreamOptions, _ body: (EventStreamAccess) async throws -> Void) async throws {
    let configuration = try options.configuration.sources().load(EventStreamConfiguration.init)
    let fetcher = try CurlFetcher()
    let stream = GoogleEventStream(
        account: configuration.account, apiURL: options.apiURL, fetcher: fetcher, clock: SystemClock())
    do {
        try await closing(fetcher.shutdown) {
            try await body(EventStreamAccess(stream: stream, configuration: configuration, fetcher: fetcher))
        }
    } catch {
        guard let refusal = error as? GoogleEventStream.Refusal else { throw error }
        throw CommandFailure(refusal, keyID: configuration.account.keyID)
    }
}

extension CommandFailure {
    fileprivate init(_ refusal: GoogleEventStream.Refusal, keyID: String) {
        func quoting(_ message: String?) -> String { message.map { " Google says: \($0)" } ?? "" }
        switch refusal {
        case .invalid(let message):
            self.init("Google does not accept the request.\(quoting(message))")
        case .unauthenticated:
            self.init(
                """
                Google does not accept the service account's key \(keyID): it was deleted, belongs to another account, or \
                this machine's clock is wrong.
                """)
        case .forbidden(let message):
            self.init(
                """
                Google does not permit it: the service account needs the role roles/riscconfigs.admin in the project of \
                the OAuth clients, the RISC API has to be enabled there and its terms accepted, and events go to https \
                on an authorized domain of the project alone.\(quoting(message))
                """)
        case .noStream:
            self.init("There is no stream yet: `countersign google risc register --url URL` makes one.")
        case .unavailable(let detail):
            self.init("Google's RISC API does not answer as it should (\(detail)): try again.")
        }
    }
}
