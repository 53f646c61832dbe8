/// Who has authorized which client, and what came of it: codes, refresh tokens and access tokens. `Identity` is what an
/// authorization lets the tokens say.
struct AuthorizationLedger<Identity: Sendable>: Sendable {
    /// A person and a client. What ends, ends for the two together.
    struct Tie: Hashable, Sendable {
        let person: String
        let clientID: String
    }

    struct Record: Sendable {
        fileprivate(set) var isConsented = false
        /// In the order of their issue, the dead ones too.
        fileprivate(set) var grants: [Grant] = []
        /// Of the last authorization.
        fileprivate(set) var identity: Identity?
        fileprivate var openCodes: Set<String> = []
        /// When each ends.
        fileprivate var accessTokens: [String: Int64] = [:]
    }

    /// Why a code is worth nothing.
    enum CodeFault: Error {
        case unknown
        case foreign
        case spent
        /// The authorization ended before the code was used.
        case ended
        case expired
    }

    /// A token that this provider has issued, whatever has become of it.
    struct Token: Sendable {
        enum Kind: String, Sendable {
            case refresh = "refresh_token"
            case access = "access_token"
        }

        let kind: Kind
        let tie: Tie
        let isLive: Bool
    }

    private struct Code: Sendable {
        let tie: Tie
        let identity: Identity
        let issuedAt: Int64
        var isSpent = false
    }

    private(set) var records: [Tie: Record] = [:]
    private var codes: [String: Code] = [:]
    private var tokens: [String: (kind: Token.Kind, tie: Tie)] = [:]

    func isConsented(_ tie: Tie) -> Bool { records[tie]?.isConsented == true }

    // MARK: Authorization and exchange

    /// The person agrees, once more perhaps, and the client gets a code for it.
    mutating func authorize(_ tie: Tie, _ identity: Identity, code: String, at now: Int64) {
        records[tie, default: Record()].isConsented = true
        records[tie]?.identity = identity
        records[tie]?.openCodes.insert(code)
        codes[code] = Code(tie: tie, identity: identity, issuedAt: now)
    }

    /// What a code stands for; it can still be used afterwards.
    func code(
        _ text: String, of clientID: String, lifetime: Int64, at now: Int64
    ) throws(CodeFault) -> (tie: Tie, identity: Identity) {
        guard let code = codes[text] else { throw .unknown }
        guard code.tie.clientID == clientID else { throw .foreign }
        guard !code.isSpent else { throw .spent }
        guard records[code.tie]?.openCodes.contains(text) == true else { throw .ended }
        guard now - code.issuedAt < lifetime else { throw .expired }
        return (code.tie, code.identity)
    }

    mutating func spend(_ text: String) {
        guard let tie = codes[text]?.tie else { return }
        codes[text]?.isSpent = true
        records[tie]?.openCodes.remove(text)
    }

    mutating func issue(refreshToken: String, to tie: Tie, at now: Int64) {
        records[tie]?.grants.append(Grant(refreshToken: refreshToken, issuedAt: now))
        tokens[refreshToken] = (.refresh, tie)
    }

    mutating func issue(accessToken: String, to tie: Tie, until end: Int64) {
        records[tie]?.accessTokens[accessToken] = end
        tokens[accessToken] = (.access, tie)
    }

    // MARK: Use and end

    func token(_ text: String, at now: Int64) -> Token? {
        guard let (kind, tie) = tokens[text], let record = records[tie] else { return nil }
        let isLive =
            switch kind {
            case .refresh: record.grants.contains { $0.refreshToken == text && $0.isLive }
            case .access: record.accessTokens[text].map { now < $0 } ?? false
            }
        return Token(kind: kind, tie: tie, isLive: isLive)
    }

    /// A refresh was answered; how many there have been with this token.
    mutating func check(_ refreshToken: String, at now: Int64) -> Int {
        change(refreshToken) { $0.check(at: now) }?.checks ?? 0
    }

    mutating func noteRevocation(of refreshToken: String) {
        _ = change(refreshToken) { $0.revocations += 1 }
    }

    private mutating func change(_ refreshToken: String, _ change: (inout Grant) -> Void) -> Grant? {
        guard let tie = tokens[refreshToken]?.tie,
            let index = records[tie]?.grants.firstIndex(where: { $0.refreshToken == refreshToken })
        else { return nil }
        if var grant = records[tie]?.grants[index] {
            change(&grant)
            records[tie]?.grants[index] = grant
        }
        return records[tie]?.grants[index]
    }

    /// Ends everything between a person and a client: the consent, the codes and every token.
    mutating func end(_ tie: Tie, by ending: Grant.Ending, at now: Int64) {
        endGrants(of: tie, by: ending, at: now) { _ in true }
        records[tie]?.isConsented = false
        records[tie]?.openCodes = []
        records[tie]?.accessTokens = [:]
    }

    /// Ends some refresh tokens and nothing else.
    mutating func endGrants(of tie: Tie, by ending: Grant.Ending, at now: Int64, where matches: (Grant) -> Bool) {
        guard var grants = records[tie]?.grants else { return }
        for index in grants.indices where matches(grants[index]) { grants[index].end(by: ending, at: now) }
        records[tie]?.grants = grants
    }
}
