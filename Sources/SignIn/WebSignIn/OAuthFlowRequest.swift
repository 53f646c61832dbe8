import Accounts
import JSON

/// The request of an OAuth client that a flow ends with, and the client's name for the flow's pages.
struct OAuthFlowRequest {
    let authorization: OAuthAuthorization
    let clientName: String

    /// What `form-action` has to allow.
    var formActionSource: String? { OAuthRedirectURI(registering: authorization.redirectURI)?.formActionSource }
}

/// As a flow keeps it: a JSON object.
extension OAuthFlowRequest {
    var stored: String {
        JSONWriter.text { writer in
            writer.member("client", authorization.clientID.text)
            writer.member("clientName", clientName)
            writer.member("redirectUri", authorization.redirectURI)
            writer.member("state", authorization.state)
            writer.member("scope", authorization.scopes.description)
            if let challenge = authorization.challenge { writer.member("challenge", challenge) }
        }
    }

    init?(stored text: String?) {
        guard let text, let json = try? JSONValue(parsing: Array(text.utf8)),
            let clientID = json["client"]?.string.flatMap(OAuthClientID.init), let name = json["clientName"]?.string,
            let redirectURI = json["redirectUri"]?.string, let state = json["state"]?.string,
            let scopes = json["scope"]?.string.flatMap(OAuthScopes.init(parameter:))
        else { return nil }
        authorization = OAuthAuthorization(
            clientID: clientID, redirectURI: redirectURI, state: state, scopes: scopes,
            challenge: json["challenge"]?.string)
        clientName = name
    }
}
