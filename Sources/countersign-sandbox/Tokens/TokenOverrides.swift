import JSON

/// Deviations of a token from what the provider would have issued: the `token` member of an authorization.
struct TokenOverrides: Sendable {
    enum Signature: String, CaseIterable, Sendable {
        case valid
        /// The right key's signature with one bit flipped.
        case forged
        /// A valid signature, made by a key that the provider never had, under the provider's key id.
        case otherKey
        case absent
    }

    var claims: [(name: String, value: JSONValue)] = []
    var withoutClaims: [String] = []
    var header: [(name: String, value: JSONValue)] = []
    var withoutHeader: [String] = []
    /// Whether it was issued so long ago that it expired an hour ago.
    var isExpired = false
    /// Seconds from `iat` to `exp`; nil for the provider's own.
    var lifetime: Int64?
    /// The key that signs; nil for the provider's current one. It may be a revoked or an unpublished one.
    var keyID: String?
    var signature = Signature.valid
    /// The header's `alg`. `none` also drops the signature, `HS256` and `ES256` make one of that kind (keyed with the
    /// public modulus, the classic confusion, and with a fresh P-256 key); any other name is only claimed.
    var algorithm: String?
    var booleansAsStrings = false

    static let none = TokenOverrides()

    init() {}

    init(_ members: ControlMembers) {
        claims = members.rawObject("claims")
        withoutClaims = members.texts("withoutClaims") ?? []
        header = members.rawObject("header")
        withoutHeader = members.texts("withoutHeader") ?? []
        isExpired = members.flag("expired")
        lifetime = members.optionalInteger("lifetime", in: 0...31_536_000_000)
        keyID = members.optionalText("keyId")
        signature = members.optionalChoice("signature") ?? .valid
        algorithm = members.optionalText("algorithm")
        booleansAsStrings = members.flag("booleansAsStrings")
    }

    /// `iat` and `exp` of a token with this lifetime.
    func period(at now: Int64, lifetime providerLifetime: Int64) -> TokenPeriod {
        let lifetime = lifetime ?? providerLifetime
        let issued = isExpired ? now - lifetime - 3600 : now
        return (issued, issued + lifetime)
    }
}

/// `iat` and `exp`.
typealias TokenPeriod = (issued: Int64, expires: Int64)
