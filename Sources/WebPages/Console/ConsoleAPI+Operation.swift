import Accounts
import Administration
import HTTPServer

/// What is set up: the OAuth server's clients, the keys of administrators, and the service itself.
extension ConsoleAPI {
    var operationRoutes: [Route] {
        [
            page(ConsolePath.adminKeys, .manage) { request, visitor in
                let keys = try await administration.adminKeys()
                return try show(Self.keys(keys, notice: try Act.notice(for: request, visitor), visitor), in: visitor)
            },
            page(ConsolePath.system, .read) { _, visitor in try show(try await system(), in: visitor) },
        ] + [administration.oauth.map(clientRoute)].compactMap(\.self)
    }

    private func clientRoute(_ oauth: OAuthAdministration) -> Route {
        page(ConsolePath.oauthClients, .read) { request, visitor in
            let text = try request.parameterValue("cursor")
            let clients = try await oauth.list(after: text.flatMap(OAuthClientID.init), limit: Self.pageSize)
            let table = ConsoleTable(
                of: clients.items, caption: "Clients of the OAuth server",
                fields: ["clientId", "status", "redirectUris", "scopes", "createdAt"],
                next: clients.next.map { consolePath(ConsolePath.oauthClients, [("cursor", $0.text)]) },
                shown: [
                    "clientId": { .lines([.text($0.client.name), .code($0.client.id.text)]) },
                    "scopes": { .code($0.scopes.description) },
                ], acts: { visitor.buttons(for: $0.client) })
            return try show(
                ConsolePage(
                    "OAuth clients", notice: try Act.notice(for: request, visitor),
                    [
                        .paragraph(.text("Clients are made on the command line: countersign oauth-client create.")),
                        .table(table),
                    ]), in: visitor)
        }
    }

    private static func keys(_ keys: [AdminKey], notice: ConsoleNotice?, _ visitor: ConsoleVisitor) -> ConsolePage {
        ConsolePage(
            "Admin keys", notice: notice,
            [
                .paragraph(.text("Keys are made on the command line: countersign admin-key create.")),
                .table(
                    ConsoleTable(
                        of: keys, caption: "Admin keys",
                        fields: ["keyId", "scopes", "createdAt", "lastUsedAt", "revokedAt"],
                        shown: [
                            "keyId": { .lines([.text($0.name), .code("\($0.id)")]) },
                            "scopes": { .text($0.scopes.map(\.rawValue).sorted().joined(separator: ", ")) },
                            "lastUsedAt": { .noted($0.lastUsedAt, everySeconds: 60, at: visitor.now) },
                            "revokedAt": { key in
                                key.revokedAt.map { .row([.badge("revoked", .bad), .time($0)]) }
                                    ?? .badge("valid", .good)
                            },
                        ], acts: visitor.buttons(for:))),
            ])
    }

    private func system() async throws -> ConsolePage {
        let schema = await environment.schema()
        let signingKeys = try await inspection.signingKeys()
        let connections = try await inspection.connections()
        let imports = try await inspection.imports()
        let keySets = environment.keySets()
        return ConsolePage(
            "System",
            [
                .facts([
                    ConsoleFact("Version", .text(environment.version)),
                    ConsoleFact("Commit", .code(environment.commit)),
                    ConsoleFact("This process started", .time(environment.startedAt)),
                    ConsoleFact("Schema", .text(schema.latest)),
                    ConsoleFact(
                        "Faults of the schema",
                        schema.faults.isEmpty ? .badge("none", .good) : .lines(schema.faults.map { .text($0) })),
                ]),
                .heading("Key sets of providers, in this process"),
                .table(
                    ConsoleTable(
                        caption: "Key sets of providers", columns: ["Provider", "Keys", "Fetched"],
                        rows: keySets.map { set in
                            [
                                .text(set.provider.brand), .number(set.keyCount),
                                .text(set.age.map { "\(ConsoleCell.duration($0)) ago" }),
                            ]
                        })),
                .heading("Keys that sign access tokens"),
                .table(
                    ConsoleTable(
                        caption: "Keys that sign access tokens",
                        columns: ["Key", "State", "Made", "Signs from", "Until"],
                        rows: signingKeys.map { key in
                            [
                                .code(key.id), .badge(key.state),
                                .time(key.createdAt), .time(key.signsFrom), .time(key.signsUntil),
                            ]
                        })),
                .heading("Imports"),
                .paragraph(.text("Imports are made and undone on the command line: countersign import.")),
                .table(
                    ConsoleTable(
                        of: imports, caption: "Imports",
                        fields: ["name", "source", "state", "lastRunAt", "finishedAt", "counts"])),
                .heading("Processes, by their connections to the database"),
                .table(
                    ConsoleTable(
                        caption: "Processes",
                        columns: ["Address", "Program", "Version", "Commit", "Connections", "Since"],
                        rows: connections.map { process in
                            let version = process.version
                            return [
                                .text(process.address ?? "socket"),
                                .text(version.map { "countersign, process \($0.process)" } ?? process.program),
                                .text(version?.number), .code(version?.commit), .number(process.connections),
                                .time(process.since),
                            ]
                        })),
                .heading("Configuration, as it was read at the start"),
                .table(
                    ConsoleTable(
                        caption: "Configuration", columns: ["Key", "Value"],
                        rows: environment.settings.map { [.code($0.name), .text($0.value)] })),
            ])
    }
}
