import Foundation
import JSON

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

    static let memberNames = [
        "server", "clientId", "clientSecret", "project", "scopes", "audience", "flipLink", "flipRedirectUri",
        "basicAuth", "pkce", "locale",
    ]

    private static let googleFlipURI = "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"

    /// - Parameter origin: this sandbox's own address.
    init(_ members: ControlMembers, origin: String) throws(ControlRefusal) {
        server = try Self.address("server", members.text("server"))
        clientID = try members.clientID()
        clientSecret = try members.text("clientSecret")
        project = try members.identifier("project")
        guard project.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil else {
            throw .invalid("project must be letters, digits, dots, underscores and hyphens.")
        }
        redirectURI = origin + GoogleLinking.redirectPath + project
        scopes = try members.texts("scopes")
        audience = members.raw("audience") == nil ? nil : try members.identifier("audience")
        flipLink =
            try members.optionalText("flipLink").map { text throws(ControlRefusal) in
                try Self.address("flipLink", text)
            } ?? server + "/app-flip"
        flipRedirectURI = try members.optionalText("flipRedirectUri") ?? Self.googleFlipURI
        usesBasic = try members.flag("basicAuth")
        usesPKCE = try members.flag("pkce")
        locale = try members.optionalText("locale")
    }

    private static func address(_ name: String, _ text: String) throws(ControlRefusal) -> String {
        let parts = URLComponents(string: text)
        let isEncrypted = parts?.scheme == "https" && parts?.host?.isEmpty == false && parts?.user == nil
        guard let parts, isEncrypted || LoopbackTarget(text) != nil, parts.query == nil, parts.fragment == nil else {
            throw .invalid("\(name) must be an https: URL, or an http: URL of this machine, without a query.")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// `scope` of a request: none where there are no scopes.
    var scope: String? { scopes.isEmpty ? nil : scopes.joined(separator: " ") }

    /// Without the secret.
    func write(_ writer: inout JSONWriter) {
        writer.member("server", server)
        writer.member("clientId", clientID)
        writer.member("project", project)
        writer.member("redirectUri", redirectURI)
        writer.member("scopes", scopes)
        writer.member("audience", audience)
        writer.member("flipLink", flipLink)
        writer.member("flipRedirectUri", flipRedirectURI)
        writer.member("basicAuth", usesBasic)
        writer.member("pkce", usesPKCE)
        writer.member("locale", locale)
    }
}
