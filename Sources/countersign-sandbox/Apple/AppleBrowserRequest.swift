/// A browser's authorization request at Apple, checked.
struct AppleBrowserRequest: Sendable {
    /// The Services ID.
    let clientID: String
    let redirectURI: String
    /// Whether the answer has an ID token beside the code.
    let wantsToken: Bool
    let mode: BrowserAnswer.Mode
    let scopes: Set<AppleAuthorization.Scope>
    let state: String?
    let nonce: String?

    static let parameters: Set = [
        "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
    ]

    init(_ text: String, accounts: AppleAccounts) throws(BrowserRefusal) {
        let query: BrowserQuery
        do throws(BrowserQuery.Fault) {
            query = try BrowserQuery(text, known: Self.parameters, takesPlus: false)
        } catch {
            throw BrowserRefusal(.apple, error)
        }
        clientID = try Self.required("client_id", query)
        let registered = accounts.redirectURIs(of: clientID)
        guard !registered.isEmpty else {
            throw Self.refusal(.invalidClient, "client_id is no Services ID: it has no redirect URI.")
        }
        let requested = try Self.required("redirect_uri", query)
        guard registered.contains(where: { $0.utf8.elementsEqual(requested.utf8) }) else {
            throw Self.refusal(.invalidRequest, "redirect_uri is none of this Services ID, byte for byte.")
        }
        redirectURI = requested

        _ = try Self.required("response_type", query)
        switch query.words("response_type").sorted() {
        case ["code"]: wantsToken = false
        case ["code", "id_token"]: wantsToken = true
        default: throw Self.refusal(.unsupportedResponseType, "response_type is code, or code id_token.")
        }
        if let name = query["response_mode"] {
            guard let mode = BrowserAnswer.Mode(rawValue: name) else {
                throw Self.refusal(.invalidRequest, "response_mode is query, fragment or form_post.")
            }
            self.mode = mode
        } else {
            mode = wantsToken ? .fragment : .query
        }
        var scopes: Set<AppleAuthorization.Scope> = []
        for word in query.words("scope") {
            switch word {
            case "email": scopes.insert(.email)
            case "name": scopes.insert(.fullName)
            default: throw Self.refusal(.invalidScope, "scope is of name and email.")
            }
        }
        self.scopes = scopes
        guard scopes.isEmpty || mode == .formPost else {
            throw Self.refusal(.invalidRequest, "response_mode must be form_post when a scope is requested.")
        }
        guard !wantsToken || mode != .query else {
            throw Self.refusal(.invalidRequest, "response_mode must be fragment or form_post for an id_token.")
        }
        state = query["state"]
        nonce = query["nonce"]
    }

    private static func required(_ name: String, _ query: BrowserQuery) throws(BrowserRefusal) -> String {
        guard let value = query[name] else { throw refusal(.invalidRequest, "\(name) is missing.") }
        return value
    }

    private static func refusal(_ code: BrowserRefusal.Code, _ reason: String) -> BrowserRefusal {
        BrowserRefusal(provider: .apple, code: code, reason: reason)
    }
}
