/// A browser's authorization request at Google, checked.
struct GoogleBrowserRequest: BrowserRequest {
    enum Prompt: String, Sendable {
        case none
        case consent
        case selectAccount = "select_account"
    }

    let clientID: String
    let redirectURI: String
    let mode = BrowserAnswer.Mode.query
    let scopes: Set<Google.Scope>
    let state: String?
    let nonce: String?
    let challenge: CodeChallenge?
    let prompts: Set<Prompt>
    let loginHint: String?
    /// `*` for any Workspace domain.
    let hostedDomain: String?
    let isOffline: Bool

    static let parameters: Set = [
        "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "prompt", "login_hint", "hd", "access_type", "display", "hl",
        "include_granted_scopes",
    ]

    init(_ text: String, _ registry: GoogleRegistry) throws(BrowserRefusal) {
        let query = try BrowserQuery(text, at: .google, known: Self.parameters)
        clientID = try query.required("client_id")
        guard let client = registry.client(clientID) else {
            throw query.refusal(.invalidClient, "The OAuth client was not found.")
        }
        guard !client.isDeleted else { throw query.refusal(.deletedClient, "The OAuth client was deleted.") }
        redirectURI = try query.redirectURI(
            of: client.redirectURIs,
            else: query.refusal(.redirectURIMismatch, "redirect_uri is none of this client, byte for byte."))
        guard try query.required("response_type") == "code" else {
            throw query.refusal(.unsupportedResponseType, "response_type is code; Google's other ones are not served.")
        }
        _ = try query.choice("response_mode", of: ["query"])
        scopes = try Self.scopes(query)
        state = query["state"]
        nonce = query["nonce"]
        challenge = try Self.challenge(query)
        prompts = try Self.prompts(query)
        loginHint = query["login_hint"]
        hostedDomain = query["hd"]
        isOffline = try query.choice("access_type", of: ["online", "offline"]) == "offline"
        _ = try query.choice("include_granted_scopes", of: ["true", "false"])
    }

    private static func scopes(_ query: BrowserQuery) throws(BrowserRefusal) -> Set<Google.Scope> {
        _ = try query.required("scope")
        var scopes: Set<Google.Scope> = []
        let words = query.words("scope")
        for word in words where word != "openid" {
            guard let scope = Google.scope(word) else {
                throw query.refusal(.invalidScope, "scope is openid, with email and profile; not \(word).")
            }
            scopes.insert(scope)
        }
        guard words.contains("openid") else {
            throw query.refusal(.invalidScope, "scope has no openid, so that there would be no ID token.")
        }
        return scopes
    }

    private static func challenge(_ query: BrowserQuery) throws(BrowserRefusal) -> CodeChallenge? {
        let name = try query.choice("code_challenge_method", of: CodeChallenge.Method.allCases.map(\.rawValue))
        guard let text = query["code_challenge"] else {
            guard name == nil else { throw query.refusal("code_challenge is missing.") }
            return nil
        }
        guard let challenge = CodeChallenge(text, name.flatMap(CodeChallenge.Method.init) ?? .plain) else {
            throw query.refusal("code_challenge is not one of its method (RFC 7636 §4.2).")
        }
        return challenge
    }

    private static func prompts(_ query: BrowserQuery) throws(BrowserRefusal) -> Set<Prompt> {
        var prompts: Set<Prompt> = []
        for word in query.words("prompt") {
            guard let prompt = Prompt(rawValue: word) else {
                throw query.refusal("prompt is of none, consent and select_account.")
            }
            prompts.insert(prompt)
        }
        guard !prompts.contains(.none) || prompts.count == 1 else {
            throw query.refusal("prompt=none goes with no other.")
        }
        return prompts
    }
}
