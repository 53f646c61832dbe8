package import Accounts
import HTTPServer
package import JSON
import OAuthServer
import SignIn

/// The clients of the OAuth server that a person has linked.
extension MobileAPI {
    /// None where the OAuth server is off.
    var linkedClientRoutes: [Route] {
        guard let oauth else { return [] }
        return [
            authenticated(.get, "/v1/account/linked-clients", priority: .reading) { _, session, call in
                let clients = try await oauth.linkedClients(of: session, by: call)
                return .json { $0.objects("items", of: clients) { $1.members(of: $0) } }
            },
            deletion("/v1/account/linked-clients/{clientId}") { request, session, call in
                let id = try request.parameter("clientId", as: OAuthClientID.init)
                guard try await oauth.unlink(id, of: session, by: call) else {
                    throw Problem(.notFound)
                }
                return .empty()
            },
        ]
    }
}

extension JSONWriter {
    /// A client as the person of an account sees it, administrators and the command line too.
    package mutating func members(of client: LinkedClient) {
        member("clientId", client.clientID.text)
        member("name", client.name)
        member("scopes", client.scopes.texts)
        member("linkedAt", client.linkedAt.rfc3339)
        member("lastUsedAt", client.lastUsedAt?.rfc3339)
    }
}
