import Foundation

/// What is typed into Google's console about the service that accounts are linked to: the body of
/// `POST /control/google/linking`.
struct LinkingSettings: Sendable {
    /// The service's address, without a slash at its end; its endpoints are under `/oauth`.
    let server: String
    /// What the service has given Google.
    let clientID: String
    let clientSecret: String
    /// Google's project, the end of the redirect URI.
    let project: String
    /// Where this sandbox takes the answer to a browser.
    let redirectURI: String
    /// Empty asks for whatever the client may have.
    let scopes: [String]
    /// Google's own client ID, to which assertions are addressed; nil for a project without streamlined linking.
    let audience: String?
    /// The universal link that opens the vendor's app.
    let flipLink: String
    /// Where that app answers.
    let flipRedirectURI: String
    /// Whether the secret goes into the `Authorization` header instead of the body.
    let usesBasic: Bool
    let usesPKCE: Bool
    /// `user_locale`.
    let locale: String?

    private static let googleFlipURI = "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"

    /// - Parameter origin: this sandbox's own address.
    init(_ members: ControlMembers, origin: String) {
        server = Self.address("server", members.text("server"), members)
        clientID = members.clientID()
        clientSecret = members.text("clientSecret")
        project = members.identifier("project")
        if project.wholeMatch(of: /[A-Za-z0-9._-]+/) == nil {
            members.refuse("project must be letters, digits, dots, underscores and hyphens.")
        }
        redirectURI = origin + GoogleLinking.redirectPath + project
        scopes = members.texts("scopes") ?? []
        audience = members.optionalIdentifier("audience")
        flipLink =
            members.optionalText("flipLink").map { Self.address("flipLink", $0, members) } ?? server + "/app-flip"
        flipRedirectURI = members.optionalText("flipRedirectUri") ?? Self.googleFlipURI
        usesBasic = members.flag("basicAuth")
        usesPKCE = members.flag("pkce")
        locale = members.optionalText("locale")
    }

    private static func address(_ name: String, _ text: String, _ members: ControlMembers) -> String {
        let parts = URLComponents(string: text)
        let isEncrypted = parts?.scheme == "https" && parts?.host?.isEmpty == false && parts?.user == nil
        if !isEncrypted && LoopbackTarget(text) == nil || parts?.query != nil || parts?.fragment != nil {
            members.refuse("\(name) must be an https: URL, or an http: URL of this machine, without a query.")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// `scope` of a request: none where there are no scopes.
    var scope: String? { scopes.isEmpty ? nil : scopes.joined(separator: " ") }

    /// Without the secret.
    var json: JSONObject {
        [
            "server": server, "clientId": clientID, "project": project, "redirectUri": redirectURI, "scopes": scopes,
            "audience": audience, "flipLink": flipLink, "flipRedirectUri": flipRedirectURI, "basicAuth": usesBasic,
            "pkce": usesPKCE, "locale": locale,
        ]
    }
}
