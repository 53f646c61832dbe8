import Accounts
import Administration
import ArgumentParser
import JSON

struct OAuthClientCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "oauth-client", abstract: "Makes, lists and changes the clients of the OAuth server.",
        subcommands: [
            Create.self, List.self, Show.self, RotateSecret.self, ActCommand<Disable>.self,
            ActCommand<Enable>.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Makes a client and prints its id and secret, as one JSON line.",
            discussion: "The secret is shown this once: the database holds its SHA-256.")

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "What people see of it: on the consent, in mails, in lists.") var name: String
        @Option(help: "Registers Google's redirect URI of this project.") var googleProject: String?
        @Flag(help: "And that of Google's sandbox.") var googleSandbox = false
        @Flag(help: "And the two App Flip URIs of Google's published apps.") var appFlip = false
        @Flag(help: "And all twelve App Flip URIs.") var appFlipAll = false
        @Option(help: "A redirect URI, compared byte for byte but for the port of a loopback address; may repeat.")
        var redirectUri: [String] = []
        @Option(help: "A scope that it may have, of oauth.scopes; may repeat. Without one, all of them.")
        var scope: [String] = []
        @Option(help: "What its assertions are addressed to: Google's own client ID; may repeat.")
        var assertionAudience: [String] = []
        @Flag(help: "Codes of the browser need PKCE.") var requirePkce = false
        @Flag(help: "Each refresh gives a new refresh token.") var rotateRefresh = false
        @Flag(help: "No accounts are made by assertions.") var noStreamlinedCreate = false
        @Flag(help: "It may introspect the tokens of all clients.") var introspect = false

        func validate() throws { _ = try registration }

        private var registration: (redirectURIs: [OAuthRedirectURI], scopes: OAuthScopes?) {
            get throws {
                guard OAuthClient.isName(name) else {
                    throw ValidationError(
                        "--name is a line of 1 to 100 bytes that is seen, with nothing in it hidden or reordered")
                }
                guard googleProject != nil || !googleSandbox else {
                    throw ValidationError("--google-sandbox goes with --google-project")
                }
                var uris = redirectUri
                if let googleProject {
                    guard googleProject.wholeMatch(of: /[A-Za-z0-9._-]{1,128}/) != nil else {
                        throw ValidationError("--google-project is the project's ID")
                    }
                    uris += GoogleLinking.redirectURIs(project: googleProject, includingSandbox: googleSandbox)
                }
                if appFlipAll {
                    uris += GoogleLinking.allFlipURIs
                } else if appFlip {
                    uris += GoogleLinking.flipURIs
                }
                let registered = try uris.map { text in
                    guard let uri = OAuthRedirectURI(registering: text) else {
                        throw ValidationError(
                            """
                            --redirect-uri is https, or http on a loopback address, without fragment, user name, wildcard, \
                            or a parameter code, state or error
                            """)
                    }
                    return uri
                }
                let scopes = try scope.map { text in
                    guard let scope = OAuthScope(text) else { throw ValidationError("--scope is one scope") }
                    return scope
                }
                guard assertionAudience.allSatisfy(OAuthClient.isAudience) else {
                    throw ValidationError("--assertion-audience is a client ID of Google's")
                }
                return (registered, scopes.isEmpty ? nil : OAuthScopes(scopes))
            }
        }

        func run() async throws {
            let (redirectURIs, scopes) = try registration
            try StandardOutput().requireWritable()
            let created = try await withOAuthAdministration(options) { administration, call in
                let configured = administration.configuredScopes()
                if let unknown = scopes?.all.first(where: { !configured.contains($0) }) {
                    throw UsageFault(sentence: "--scope \(unknown.text) is none of oauth.scopes (\(configured))")
                }
                return try await administration.create(named: name, redirectURIs: redirectURIs, by: call) {
                    [assertionAudience, requirePkce, rotateRefresh, noStreamlinedCreate, introspect] client in
                    client.scopes = scopes
                    client.assertionAudiences = assertionAudience
                    client.requiresPKCE = requirePkce
                    client.rotatesRefresh = rotateRefresh
                    client.createsAccounts = !noStreamlinedCreate
                    client.introspects = introspect
                }
            }
            let id = created.record.client.id.text
            printOnce(
                created.line,
                orSay: """
                    the client \(id) is made, and its secret could not be printed: `countersign oauth-client rotate-secret \
                    \(id)` gives it another one
                    """)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints all clients, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            let lines = try await withOAuthAdministration(options) { administration, _ in
                var lines: [String] = []
                try await eachItem {
                    try await administration.list(after: $0, limit: $1)
                } do: {
                    lines.append($0.line)
                }
                return lines
            }
            for line in lines { printLine(line) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Prints a client as one JSON line.")

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "Its clientId.", transform: oauthClientID) var id: OAuthClientID

        func run() async throws {
            let client = try await withOAuthAdministration(options) { administration, _ in
                try await administration.client(id)
            }
            printLine(client.line)
        }
    }

    struct RotateSecret: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate-secret", abstract: "Gives a client a new secret and prints it, as one JSON line.",
            discussion: """
                With --keep-old the secret before counts beside it for that long. It is the only one: a secret that an earlier \
                rotation has kept counts no more, nor does the one before without --keep-old. previousSecretExpiresAt of \
                oauth-client show says until when one is kept.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "Its clientId.", transform: oauthClientID) var id: OAuthClientID
        @Option(help: "A number and s, m, h or d; at most 30d.", transform: CommandDuration.time)
        var keepOld: Int64 = 0

        func run() async throws {
            try StandardOutput().requireWritable()
            let rotated = try await withOAuthAdministration(options) { administration, call in
                try await administration.rotateSecret(of: id, keepOldSeconds: keepOld, by: call)
            }
            let kept = rotated.record.client.previousSecretExpiresAt
            printOnce(
                rotated.line,
                orSay: """
                    \(id.text) has a new secret, which could not be printed: rotate it again\
                    \(kept.map { ", which ends the one before, or go on with that until \($0.rfc3339)" } ?? "")
                    """)
            if let ended = rotated.endedSecretUntil, let kept {
                printNotice(
                    """
                    the secret that an earlier rotation kept until \(ended.rfc3339) counts no more; the one that it gave \
                    counts until \(kept.rfc3339)
                    """)
            }
        }
    }

    enum Disable: CommandedAct {
        typealias Input = NoInput
        static let act = Act.disableClient
    }

    enum Enable: CommandedAct {
        typealias Input = NoInput
        static let act = Act.enableClient
    }
}

@Sendable func oauthClientID(_ text: String) throws -> OAuthClientID {
    guard let id = OAuthClientID(text) else { throw ValidationError("the client id is none") }
    return id
}

private func withOAuthAdministration<Value: Sendable>(
    _ options: ConfigurationOptions, _ body: (OAuthAdministration, Call) async throws -> Value
) async throws -> Value {
    let scopes = try options.sources().load { OAuthScopes(from: &$0) }
    return try await withAdministration(options, scopes: scopes) { administration, administrator in
        guard let oauth = administration.oauth else { throw CommandFailure("There is no OAuth server.") }
        return try await naming("There is no such client.") { try await body(oauth, administrator.call) }
    }
}

extension OAuthAdministration.CreatedClient {
    fileprivate var line: String {
        JSONWriter.text { writer in
            writer.member("clientId", record.client.id.text)
            writer.member("clientSecret", secret)
        }
    }
}
