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
                let settings = try request.fields { fields in
                    var settings = OAuthAdministration.Settings(
                        name: try fields.value("name", as: OAuthClient.name),
                        redirectURIs: fields.values("redirectUris", as: OAuthRedirectURI.init(registering:)) ?? [])
                    settings.scopes = fields.scopes(of: oauth.configuredScopes()) ?? nil
                    settings.assertionAudiences = fields.values("assertionAudiences", as: Self.audience) ?? []
                    settings.requiresPKCE = fields.optionalBool("requirePkce") ?? false
                    settings.rotatesRefresh = fields.optionalBool("rotateRefresh") ?? false
                    settings.createsAccounts = fields.optionalBool("streamlinedCreate") ?? true
                    settings.introspects = fields.optionalBool("introspect") ?? false
                    return settings
                }
                let created = try await oauth.create(settings, by: administrator.call)
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
                    let scopes = fields.scopes(of: oauth.configuredScopes())
                    let audiences = fields.values("assertionAudiences", as: Self.audience)
                    let (pkce, rotates) = (fields.optionalBool("requirePkce"), fields.optionalBool("rotateRefresh"))
                    let creates = fields.optionalBool("streamlinedCreate")
                    let introspects = fields.optionalBool("introspect")
                    return { @Sendable (client: inout OAuthClient) in
                        if let name { client.name = name }
                        if let uris { client.redirectURIs = uris }
                        if let scopes { client.scopes = scopes }
                        if let audiences { client.assertionAudiences = audiences }
                        if let pkce { client.requiresPKCE = pkce }
                        if let rotates { client.rotatesRefresh = rotates }
                        if let creates { client.createsAccounts = creates }
                        if let introspects { client.introspects = introspects }
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
                let clients = try await oauth.linkedClients(of: try request.accountID, by: administrator.call)
                return .json { $0.objects("items", of: clients) { $1.members(of: $0) } }
            },
        ]
    }

    private static func audience(_ text: String) -> String? { OAuthClient.isAudience(text) ? text : nil }
}

extension Fields {
    /// Some of the server's scopes; an empty list means all that it will have, `nil`.
    fileprivate mutating func scopes(of configured: OAuthScopes) -> OAuthScopes?? {
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
