import Accounts
import Administration
import HTTPServer
import JSON

/// The clients of the OAuth server, and what is linked to accounts.
extension AdminAPI {
    /// The longest time for which two secrets count, in seconds.
    private static let longestRotation = 30 * 86_400

    /// None where the OAuth server is off.
    var oauthOperations: [Operation] {
        guard let oauth = administration.oauth else { return [] }
        return [
            operation(.get, "/oauth-clients", .read) { request, _ in
                let range = try request.query { $0.range(OAuthClientID.self) }
                return .list(try await oauth.list(after: range.cursor, limit: range.limit)) { $1.members(of: $0) }
            },
            operation(.post, "/oauth-clients", .manage) { request, administrator in
                let (name, uris, edit) = try request.fields { fields in
                    (
                        fields.value("name", as: OAuthClient.name) ?? "",
                        fields.values("redirectUris", as: OAuthRedirectURI.init(registering:)) ?? [],
                        fields.clientChange(of: oauth.configuredScopes())
                    )
                }
                let created = try await oauth.create(named: name, redirectURIs: uris, by: administrator.call, edit)
                return .json(.created) { writer in
                    writer.members(of: created.record)
                    writer.member("clientSecret", created.secret)
                }
            },
            operation(.get, "/oauth-clients/{clientId}", .read) { request, _ in
                let client = try await oauth.client(try request.oauthClientID)
                return .json { $0.members(of: client) }
            },
            operation(.patch, "/oauth-clients/{clientId}", .manage) { request, administrator in
                let id = try request.oauthClientID
                let change = try request.fields { fields in
                    let name = fields.optionalValue("name", as: OAuthClient.name)
                    let uris = fields.values("redirectUris", as: OAuthRedirectURI.init(registering:))
                    let edit = fields.clientChange(of: oauth.configuredScopes())
                    return { @Sendable (client: inout OAuthClient) in
                        if let name { client.name = name }
                        if let uris { client.redirectURIs = uris }
                        edit(&client)
                    }
                }
                let client = try await oauth.change(id, by: administrator.call, change)
                return .json { $0.members(of: client) }
            },
            operation(.post, "/oauth-clients/{clientId}/rotate-secret", .manage) { request, administrator in
                let id = try request.oauthClientID
                let kept = try request.optionalFields { fields in
                    fields.optionalInteger("keepOldSeconds", in: 0...Self.longestRotation)
                }
                let rotated = try await oauth.rotateSecret(
                    of: id, keepOldSeconds: Int64((kept ?? nil) ?? 0), by: administrator.call)
                return .json { writer in
                    writer.members(of: rotated.record)
                    writer.member("clientSecret", rotated.secret)
                }
            },
            operation(.get, "/accounts/{accountId}/linked-clients", .read) { request, administrator in
                let id = try request.accountID
                let range = try request.query { $0.range(LinkedClientCursor.self) }
                return .list(
                    try await oauth.linkedClients(
                        of: id, after: range.cursor, limit: range.limit, by: administrator.call)
                ) { $1.members(of: $0) }
            },
        ]
    }
}

extension Fields {
    /// What a client may be given beside its name and its redirect URIs: members that are absent leave it as it is.
    fileprivate mutating func clientChange(of configured: OAuthScopes) -> @Sendable (inout OAuthClient) -> Void {
        let scopes = scopes(of: configured)
        let audiences = values("assertionAudiences") { OAuthClient.isAudience($0) ? $0 : nil }
        let (pkce, rotates) = (optionalBool("requirePkce"), optionalBool("rotateRefresh"))
        let (creates, introspects) = (optionalBool("streamlinedCreate"), optionalBool("introspect"))
        return { client in
            if let scopes { client.scopes = scopes }
            if let audiences { client.assertionAudiences = audiences }
            if let pkce { client.requiresPKCE = pkce }
            if let rotates { client.rotatesRefresh = rotates }
            if let creates { client.createsAccounts = creates }
            if let introspects { client.introspects = introspects }
        }
    }

    /// Some of the server's scopes; an empty list means all that it will have, `nil`.
    private mutating func scopes(of configured: OAuthScopes) -> OAuthScopes?? {
        let scopes = values("scopes") { OAuthScope($0).flatMap { configured.contains($0) ? $0 : nil } }
        return scopes.map { $0.isEmpty ? nil : OAuthScopes($0) }
    }
}

extension Request {
    var oauthClientID: OAuthClientID {
        get throws(Problem) { try parameter("clientId", as: OAuthClientID.init) }
    }
}

extension OAuthClientID: ListCursor {
    static func at(_ position: String) -> OAuthClientID? { OAuthClientID(position) }
    var position: String { text }
}
