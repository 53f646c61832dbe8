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

    init(_ members: ControlMembers) throws(ControlRefusal) {
        claims = try members.rawObject("claims")
        withoutClaims = try members.texts("withoutClaims")
        header = try members.rawObject("header")
        withoutHeader = try members.texts("withoutHeader")
        isExpired = try members.flag("expired")
        lifetime = try members.integer("lifetime", in: 0...31_536_000_000)
        keyID = try members.optionalText("keyId")
        signature = try members.choice("signature", of: Signature.self) ?? .valid
        algorithm = try members.optionalText("algorithm")
        booleansAsStrings = try members.flag("booleansAsStrings")
    }

    static let memberNames = [
        "claims", "withoutClaims", "header", "withoutHeader", "expired", "lifetime", "keyId", "signature", "algorithm",
        "booleansAsStrings",
    ]

    /// `iat` and `exp` of a token with this lifetime.
    func period(at now: Int64, lifetime providerLifetime: Int64) -> (issued: Int64, expires: Int64) {
        let lifetime = lifetime ?? providerLifetime
        let issued = isExpired ? now - lifetime - 3600 : now
        return (issued, issued + lifetime)
    }
}
