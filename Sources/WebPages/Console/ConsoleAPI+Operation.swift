import Accounts
import HTTPAPI
import HTTPServer
import OAuthServer
import SignIn

/// What is set up: the OAuth server's clients, the keys of administrators, and the service itself.
extension ConsoleAPI {
    var operationRoutes: [Route] {
        [
            page("/console/admin-keys", .manage) { request, visitor in
                let keys = try await administration.adminKeys()
                return try show(
                    Self.keys(keys, notice: try ConsoleAct.notice(for: request, visitor), visitor), in: visitor)
            },
            page("/console/system", .read) { _, visitor in try show(try await system(), in: visitor) },
        ] + [oauth.map(clientRoute)].compactMap(\.self)
    }

    private func clientRoute(_ oauth: OAuthAdministration) -> Route {
        page("/console/oauth-clients", .read) { request, visitor in
            let text = try request.parameterValue("cursor")
            let clients = try await oauth.list(after: text.flatMap(OAuthClientID.init), limit: Self.pageSize)
            let table = ConsoleTable(
                caption: "Clients of the OAuth server",
                columns: ["Client", "Status", "Redirect URIs", "Scopes", "Made", "Acts"],
                rows: clients.items.map { client in
                    [
                        .lines([.text(client.name), .code(client.id.text)]),
                        .badge(client.status.rawValue, client.status == .active ? .good : .bad),
                        .lines(client.redirectURIs.map { .code($0.text) }),
                        .code(oauth.scopes(of: client).description), .time(client.createdAt),
                        .row(ConsoleAct.buttons(for: client, visitor)),
                    ]
                },
                next: clients.next.map { consolePath("/console/oauth-clients", [("cursor", $0.text)]) })
            return try show(
                ConsolePage(
                    "OAuth clients", notice: try ConsoleAct.notice(for: request, visitor),
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
                        caption: "Admin keys", columns: ["Key", "Scopes", "Made", "Used", "State", "Acts"],
                        rows: keys.map { key in
                            [
                                .lines([.text(key.name), .code("\(key.id)")]),
                                .text(key.scopes.map(\.rawValue).sorted().joined(separator: ", ")),
                                .time(key.createdAt),
                                .time(key.lastUsedAt),
                                key.revokedAt.map { .row([.badge("revoked", .bad), .time($0)]) }
                                    ?? .badge("valid", .good),
                                .row(ConsoleAct.buttons(for: key, visitor)),
                            ]
                        })),
            ])
    }

    private func system() async throws -> ConsolePage {
        let schema = await environment.schema()
        let signingKeys = try await administration.signingKeys()
        let connections = try await administration.connections()
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
                .heading("Processes, by their connections to the database"),
                .table(
                    ConsoleTable(
                        caption: "Processes", columns: ["Address", "Program", "Connections", "Since"],
                        rows: connections.map { process in
                            [
                                .text(process.address ?? "socket"), .text(process.program),
                                .number(process.connections), .time(process.since),
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
