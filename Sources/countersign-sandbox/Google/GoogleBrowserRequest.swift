/// A browser's authorization request at Google, checked.
struct GoogleBrowserRequest: Sendable {
    enum Prompt: String, Sendable {
        case none
        case consent
        case selectAccount = "select_account"
    }

    let clientID: String
    let redirectURI: String
    let scopes: Set<GoogleAuthorization.Scope>
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

    init(_ text: String, accounts: GoogleAccounts) throws(BrowserRefusal) {
        let query: BrowserQuery
        do throws(BrowserQuery.Fault) {
            query = try BrowserQuery(text, known: Self.parameters, takesPlus: true)
        } catch {
            throw BrowserRefusal(.google, error)
        }
        clientID = try Self.required("client_id", query)
        guard let client = accounts.client(clientID) else {
            throw Self.refusal(.invalidClient, "The OAuth client was not found.")
        }
        guard !client.isDeleted else { throw Self.refusal(.deletedClient, "The OAuth client was deleted.") }
        let requested = try Self.required("redirect_uri", query)
        guard client.redirectURIs.contains(where: { $0.utf8.elementsEqual(requested.utf8) }) else {
            throw Self.refusal(.redirectURIMismatch, "redirect_uri is none of this client, byte for byte.")
        }
        redirectURI = requested
        guard try Self.required("response_type", query) == "code" else {
            throw Self.refusal(.unsupportedResponseType, "response_type is code; Google's other ones are not served.")
        }
        _ = try Self.choice("response_mode", of: ["query"], query)
        scopes = try Self.scopes(query)
        state = query["state"]
        nonce = query["nonce"]
        challenge = try Self.challenge(query)
        prompts = try Self.prompts(query)
        loginHint = query["login_hint"]
        hostedDomain = query["hd"]
        isOffline = try Self.choice("access_type", of: ["online", "offline"], query) == "offline"
        _ = try Self.choice("include_granted_scopes", of: ["true", "false"], query)
    }

    private static func scopes(_ query: BrowserQuery) throws(BrowserRefusal) -> Set<GoogleAuthorization.Scope> {
        _ = try required("scope", query)
        var scopes: Set<GoogleAuthorization.Scope> = []
        let words = query.words("scope")
        for word in words where word != "openid" {
            let prefix = GoogleIdentity.scopePrefix
            let name = word.hasPrefix(prefix) ? String(word.dropFirst(prefix.count)) : word
            guard let scope = GoogleAuthorization.Scope(rawValue: name) else {
                throw refusal(.invalidScope, "scope is openid, with email and profile; not \(word).")
            }
            scopes.insert(scope)
        }
        guard words.contains("openid") else {
            throw refusal(.invalidScope, "scope has no openid, so that there would be no ID token.")
        }
        return scopes
    }

    private static func challenge(_ query: BrowserQuery) throws(BrowserRefusal) -> CodeChallenge? {
        let name = try choice("code_challenge_method", of: CodeChallenge.Method.allCases.map(\.rawValue), query)
        guard let text = query["code_challenge"] else {
            guard name == nil else { throw refusal(.invalidRequest, "code_challenge is missing.") }
            return nil
        }
        guard let challenge = CodeChallenge(text, name.flatMap(CodeChallenge.Method.init) ?? .plain) else {
            throw refusal(.invalidRequest, "code_challenge is not one of its method (RFC 7636 §4.2).")
        }
        return challenge
    }

    private static func prompts(_ query: BrowserQuery) throws(BrowserRefusal) -> Set<Prompt> {
        var prompts: Set<Prompt> = []
        for word in query.words("prompt") {
            guard let prompt = Prompt(rawValue: word) else {
                throw refusal(.invalidRequest, "prompt is of none, consent and select_account.")
            }
            prompts.insert(prompt)
        }
        guard !prompts.contains(.none) || prompts.count == 1 else {
            throw refusal(.invalidRequest, "prompt=none goes with no other.")
        }
        return prompts
    }

    private static func choice(
        _ name: String, of values: [String], _ query: BrowserQuery
    ) throws(BrowserRefusal) -> String? {
        guard let value = query[name] else { return nil }
        guard values.contains(value) else {
            throw refusal(.invalidRequest, "\(name) is \(values.joined(separator: " or ")).")
        }
        return value
    }

    private static func required(_ name: String, _ query: BrowserQuery) throws(BrowserRefusal) -> String {
        guard let value = query[name] else {
            throw refusal(.invalidRequest, "Missing required parameter: \(name)")
        }
        return value
    }

    private static func refusal(_ code: BrowserRefusal.Code, _ reason: String) -> BrowserRefusal {
        BrowserRefusal(provider: .google, code: code, reason: reason)
    }
}
