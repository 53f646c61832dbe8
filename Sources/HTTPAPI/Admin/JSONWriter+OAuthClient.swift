package import Accounts
package import JSON

extension JSONWriter {
    /// - Parameter scopes: all that it may have.
    package mutating func members(of client: OAuthClient, scopes: OAuthScopes) {
        member("clientId", client.id.text)
        member("name", client.name)
        member("redirectUris", client.redirectURIs.map(\.text))
        member("scopes", scopes.texts)
        member("assertionAudiences", client.assertionAudiences)
        member("requirePkce", client.requiresPKCE)
        member("rotateRefresh", client.rotatesRefresh)
        member("streamlinedCreate", client.createsAccounts)
        member("introspect", client.introspects)
        member("status", client.status.rawValue)
        member("createdAt", client.createdAt.rfc3339)
    }
}
