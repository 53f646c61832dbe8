/// A browser's authorization request at Apple, checked.
struct AppleBrowserRequest: BrowserRequest {
    /// The Services ID.
    let clientID: String
    let redirectURI: String
    /// Whether the answer has an ID token beside the code.
    let wantsToken: Bool
    let mode: BrowserAnswer.Mode
    let scopes: Set<Apple.Scope>
    let state: String?
    let nonce: String?

    static let parameters: Set = [
        "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
    ]

    init(_ text: String, _ registry: AppleRegistry) throws(BrowserRefusal) {
        let query = try BrowserQuery(text, at: .apple, known: Self.parameters)
        clientID = try query.required("client_id")
        let registered = registry.redirectURIs(of: clientID)
        guard !registered.isEmpty else {
            throw query.refusal(.invalidClient, "client_id is no Services ID: it has no redirect URI.")
        }
        redirectURI = try query.redirectURI(
            of: registered, else: query.refusal("redirect_uri is none of this Services ID, byte for byte."))

        _ = try query.required("response_type")
        switch query.words("response_type").sorted() {
        case ["code"]: wantsToken = false
        case ["code", "id_token"]: wantsToken = true
        default: throw query.refusal(.unsupportedResponseType, "response_type is code, or code id_token.")
        }
        let standard: BrowserAnswer.Mode = wantsToken ? .fragment : .query
        guard let mode = BrowserAnswer.Mode(rawValue: query["response_mode"] ?? standard.rawValue) else {
            throw query.refusal("response_mode is query, fragment or form_post.")
        }
        self.mode = mode
        var scopes: Set<Apple.Scope> = []
        for word in query.words("scope") {
            switch word {
            case "email": scopes.insert(.email)
            case "name": scopes.insert(.fullName)
            default: throw query.refusal(.invalidScope, "scope is of name and email.")
            }
        }
        self.scopes = scopes
        guard scopes.isEmpty || mode == .formPost else {
            throw query.refusal("response_mode must be form_post when a scope is requested.")
        }
        guard !wantsToken || mode != .query else {
            throw query.refusal("response_mode must be fragment or form_post for an id_token.")
        }
        state = query["state"]
        nonce = query["nonce"]
    }
}
