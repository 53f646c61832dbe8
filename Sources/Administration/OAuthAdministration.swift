package import Accounts
import OAuthServer
package import Postgres
import Storage

/// The use cases of those who run the OAuth server: its clients, and what is linked to accounts.
package struct OAuthAdministration: Sendable {
    private let clients: OAuthClientStore
    private let grants: OAuthGrantStore
    private let accounts: AccountStore
    /// Those that are configured at the moment.
    package let configuredScopes: @Sendable () -> OAuthScopes

    package init(database: Database, scopes: @escaping @Sendable () -> OAuthScopes) {
        clients = OAuthClientStore(database: database)
        grants = OAuthGrantStore(database: database)
        accounts = AccountStore(database: database)
        configuredScopes = scopes
    }

    /// With all that it may have, whether it names its scopes or not.
    private func record(of client: OAuthClient) -> OAuthClientRecord {
        OAuthClientRecord(client: client, scopes: client.allowedScopes(of: configuredScopes()))
    }

    /// A client, and its secret, which is shown this once.
    package struct CreatedClient: Sendable {
        package let record: OAuthClientRecord
        package let secret: String
        /// Until when a secret would have counted that an earlier rotation had kept, and that this one has ended although it
        /// keeps one.
        package var endedSecretUntil: Timestamp?
    }

    /// - Parameter edit: what else is set of the new client.
    package func create(
        named name: String, redirectURIs: [OAuthRedirectURI], by call: Call,
        _ edit: @Sendable (inout OAuthClient) -> Void = { _ in }
    ) async throws(AdministrationFailure) -> CreatedClient {
        let secret = try self.secret()
        guard let id = OAuthClientID("csc_" + (try self.secret().text.suffix(22))) else {
            throw .fault(operation: "client id")
        }
        var client = OAuthClient(id: id, name: name, redirectURIs: redirectURIs, createdAt: call.now)
        edit(&client)
        try await stored { try await clients.create(client, secretHash: secret.hash, by: call) }
        return CreatedClient(record: record(of: client), secret: secret.text)
    }

    package func list(
        after cursor: OAuthClientID?, limit: Int
    ) async throws(AdministrationFailure) -> Page<OAuthClientRecord, OAuthClientID> {
        let page = try await stored { try await clients.list(after: cursor, limit: limit) }
        return Page(items: page.items.map(record), next: page.next)
    }

    package func client(_ id: OAuthClientID) async throws(AdministrationFailure) -> OAuthClientRecord {
        record(of: try await found { try await clients.client(id) }.client)
    }

    /// - Parameter change: what becomes of the client.
    package func change(
        _ id: OAuthClientID, by call: Call, _ change: @Sendable (inout OAuthClient) -> Void
    ) async throws(AdministrationFailure) -> OAuthClientRecord {
        record(of: try await found { try await clients.change(id, by: call, change) })
    }

    /// - Parameter keepOldSeconds: for which the secret before counts beside the new one.
    package func rotateSecret(
        of id: OAuthClientID, keepOldSeconds: Int64, by call: Call
    ) async throws(AdministrationFailure) -> CreatedClient {
        let secret = try self.secret()
        let isKept = keepOldSeconds > 0
        let before = try await found {
            try await clients.rotateSecret(
                of: id, to: secret.hash,
                keepingOldUntil: isKept ? call.now.advanced(bySeconds: keepOldSeconds) : nil, by: call)
        }
        return CreatedClient(
            record: try await client(id), secret: secret.text,
            endedSecretUntil: isKept && before.keepsPreviousSecret(at: call.now) ? before.previousSecretExpiresAt : nil)
    }

    package func setStatus(
        of id: OAuthClientID, to status: OAuthClient.Status, by call: Call
    ) async throws(AdministrationFailure) {
        try await changed { try await clients.setStatus(of: id, to: status, by: call) }
    }

    package func linkedClients(of id: AccountID, by call: Call) async throws(AdministrationFailure) -> [LinkedClient] {
        guard try await stored({ try await accounts.account(id) }) != nil else { throw .notFound }
        return try await stored { try await grants.linkedClients(of: id, by: call) }
    }

    package func linkedClients(
        of id: AccountID, after cursor: LinkedClientCursor?, limit: Int, by call: Call
    ) async throws(AdministrationFailure) -> Page<LinkedClient, LinkedClientCursor> {
        guard try await stored({ try await accounts.account(id) }) != nil else { throw .notFound }
        return try await stored { try await grants.linkedClients(of: id, after: cursor, limit: limit, by: call) }
    }

    package func unlink(
        _ client: OAuthClientID, of id: AccountID, reason: String?, by call: Call
    ) async throws(AdministrationFailure) {
        try await changed { try await grants.end(client, of: id, reason: reason, by: call) }
    }

    private func secret() throws(AdministrationFailure) -> OAuthSecret {
        do throws(OAuthFailure) {
            return try OAuthSecret(.clientSecret)
        } catch {
            throw .fault(operation: "random")
        }
    }
}
