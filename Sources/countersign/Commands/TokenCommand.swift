import Accounts
import ArgumentParser
import JOSE

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Looks at provider tokens.", subcommands: [Verify.self])

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Verifies identity tokens, and prints one JSON line for each, in order, as they come.",
            discussion: """
                Reads the tokens from the arguments, or one per line from standard input, where an empty line is a token \
                too. Exits with 0 when all are valid, 1 when one is not, 2 when the command line makes no sense.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "Whose tokens they are: apple or google.")
        var provider: Provider?
        @Option(
            name: .customLong("client-id"),
            help: "An accepted audience; repeatable. Else the configured ones; one is needed, but for --signature-only."
        )
        var clientIDs: [String] = []
        @Option(help: "A key set file, instead of fetching the provider's keys.")
        var jwks: String?
        @Option(help: "The time to verify at, such as 2024-02-20T11:41:16Z; now if absent.", transform: timestamp)
        var at: Timestamp?
        @Option(help: "The raw nonce that was posted with the tokens.")
        var nonce: String?
        @Flag(help: "Stop after the signature: any compact JWS, its payload unread.")
        var signatureOnly = false
        @Argument(help: "Tokens; without one, standard input is read.")
        var tokens: [String] = []

        func validate() throws {
            guard provider != nil || signatureOnly && jwks != nil else {
                throw ValidationError("--provider apple or --provider google is needed")
            }
            guard !clientIDs.contains("") else { throw ValidationError("--client-id is an audience, and not empty") }
        }

        func run() async throws {
            let keys = try jwks.map { try KeySet(file: $0) }
            let sources = try options.sources()
            let rules =
                if signatureOnly {
                    try TokenRules.signature(of: provider, keys: keys, sources)
                } else {
                    try TokenRules.identity(
                        of: provider, clientIDs: clientIDs.map { ProviderClientID($0) }, keys: keys, sources)
                }
            var output = ReportOutput(verification: TokenVerification(rules: rules, nonce: nonce, time: at))
            if tokens.isEmpty {
                // One byte more than a token can have: enough to see that it is too large, however long the line is.
                var lines = LineSplitter(maximumBytes: UnverifiedToken.maximumBytes + 1)
                let input = StandardInput()
                while let chunk = try await input.nextChunk() {
                    try await output.write(reportsOn: lines.append(chunk))
                }
                try await output.write(reportsOn: lines.finish())
            } else {
                try await output.write(reportsOn: tokens.map { Array($0.utf8) })
            }
            if output.sawRejection { throw ExitCode(1) }
        }

        @Sendable private static func timestamp(_ text: String) throws -> Timestamp {
            guard let timestamp = Timestamp(rfc3339: text) else {
                throw ValidationError("--at is a time in UTC such as 2024-02-20T11:41:16Z")
            }
            return timestamp
        }
    }
}

extension Provider: ExpressibleByArgument {}
