import Accounts
import JSON

/// What the pages of a flow show and allow of the request that it ends with.
struct OAuthFlowTarget {
    let clientName: String
    /// What `form-action` has to allow.
    let formActionSource: String?

    /// - Parameter request: as the flow keeps it.
    init?(_ request: String?) {
        guard let request, let json = try? JSONValue(parsing: Array(request.utf8)),
            let name = json["clientName"]?.string, let uri = json["redirectUri"]?.string
        else { return nil }
        clientName = name
        formActionSource = OAuthRedirectURI(registering: uri)?.formActionSource
    }
}
