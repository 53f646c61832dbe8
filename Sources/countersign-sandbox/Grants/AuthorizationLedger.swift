/// The consents of persons to clients, with the codes, refresh tokens and access tokens issued for them. `Identity` is
/// what an authorization allows the tokens to state.
struct AuthorizationLedger<Identity: Sendable>: Sendable {
    /// A person and a client: the key of a record, which begins and ends for the two together.
    struct Pair: Hashable, Sendable {
        let person: String
        let clientID: String
    }

    struct Record: Sendable {
        fileprivate(set) var isConsented = false
        /// Refresh tokens in the order of their issue, dead ones included.
        fileprivate(set) var grants: [Grant] = []
        /// The identity of the last authorization.
        fileprivate(set) var identity: Identity?
        fileprivate var openCodes: Set<String> = []
        /// The end of each token, in seconds since 1970.
        fileprivate var accessTokens: [String: Int64] = [:]
    }

    /// A token that this provider has issued, live or dead.
    struct Token: Sendable {
        enum Kind: String, Sendable {
            case refresh = "refresh_token"
            case access = "access_token"
        }

        let kind: Kind
        let pair: Pair
        let isLive: Bool
    }

    private struct Code: Sendable {
        let pair: Pair
        let identity: Identity
        let issuedAt: Int64
        var isSpent = false
    }

    private(set) var records: [Pair: Record] = [:]
    private var codes: [String: Code] = [:]
    private var tokens: [String: (kind: Token.Kind, pair: Pair)] = [:]

    func isConsented(_ pair: Pair) -> Bool { records[pair]?.isConsented == true }

    // MARK: Authorization and exchange

    /// Records a consent, the first or a repeated one, and the code that the client gets for it.
    mutating func authorize(_ pair: Pair, _ identity: Identity, code: String, at now: Int64) {
        records[pair, default: Record()].isConsented = true
        records[pair]?.identity = identity
        records[pair]?.openCodes.insert(code)
        codes[code] = Code(pair: pair, identity: identity, issuedAt: now)
    }

    /// The authorization that a code stands for; the code is not spent.
    func code(
        _ text: String, of clientID: String, lifetime: Int64, at now: Int64
    ) throws(GrantFault) -> (pair: Pair, identity: Identity) {
        guard let code = codes[text] else { throw .unknown }
        guard code.pair.clientID == clientID else { throw .foreign }
        guard !code.isSpent else { throw .spent }
        guard records[code.pair]?.openCodes.contains(text) == true else { throw .ended }
        guard now - code.issuedAt < lifetime else { throw .expired }
        return (code.pair, code.identity)
    }

    mutating func spend(_ text: String) {
        guard let pair = codes[text]?.pair else { return }
        codes[text]?.isSpent = true
        records[pair]?.openCodes.remove(text)
    }

    mutating func issue(refreshToken: String, to pair: Pair, at now: Int64) {
        records[pair]?.grants.append(Grant(refreshToken: refreshToken, issuedAt: now))
        tokens[refreshToken] = (.refresh, pair)
    }

    mutating func issue(accessToken: String, to pair: Pair, until end: Int64) {
        records[pair]?.accessTokens[accessToken] = end
        tokens[accessToken] = (.access, pair)
    }

    // MARK: Use and end

    /// The person and client of a refresh token that lives.
    func refreshToken(_ text: String, of clientID: String, at now: Int64) throws(GrantFault) -> Pair {
        guard let token = token(text, at: now) else { throw .unknown }
        guard token.kind == .refresh else { throw .otherKind }
        guard token.pair.clientID == clientID else { throw .foreign }
        guard token.isLive else { throw .ended }
        return token.pair
    }

    func token(_ text: String, at now: Int64) -> Token? {
        guard let (kind, pair) = tokens[text], let record = records[pair] else { return nil }
        let isLive =
            switch kind {
            case .refresh: record.grants.contains { $0.refreshToken == text && $0.isLive }
            case .access: record.accessTokens[text].map { now < $0 } ?? false
            }
        return Token(kind: kind, pair: pair, isLive: isLive)
    }

    /// Counts an answered refresh. Returns how many there have been with this token.
    mutating func check(_ refreshToken: String, at now: Int64) -> Int {
        change(refreshToken) { $0.check(at: now) }?.checks ?? 0
    }

    mutating func noteRevocation(of refreshToken: String) { _ = change(refreshToken) { $0.revocations += 1 } }

    private mutating func change(_ refreshToken: String, _ change: (inout Grant) -> Void) -> Grant? {
        guard let pair = tokens[refreshToken]?.pair, var grants = records[pair]?.grants,
            let index = grants.firstIndex(where: { $0.refreshToken == refreshToken })
        else { return nil }
        change(&grants[index])
        records[pair]?.grants = grants
        return grants[index]
    }

    /// Ends everything between a person and a client: the consent, the codes and every token.
    mutating func end(_ pair: Pair, by ending: Grant.Ending, at now: Int64) {
        endGrants(of: pair, by: ending, at: now) { _ in true }
        records[pair]?.isConsented = false
        records[pair]?.openCodes = []
        records[pair]?.accessTokens = [:]
    }

    /// Ends some refresh tokens and nothing else.
    mutating func endGrants(of pair: Pair, by ending: Grant.Ending, at now: Int64, where matches: (Grant) -> Bool) {
        guard var grants = records[pair]?.grants else { return }
        for index in grants.indices where matches(grants[index]) { grants[index].end(by: ending, at: now) }
        records[pair]?.grants = grants
    }
}

/// Why a code or a refresh token is not accepted. The history's reasons contain the names of the cases.
enum GrantFault: Error {
    case unknown
    /// An access token in place of a refresh token.
    case otherKind
    case foreign
    case spent
    /// The authorization ended before the code was used, or the refresh token is over.
    case ended
    case expired
}
