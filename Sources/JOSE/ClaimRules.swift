import JSON

/// The requirements on the claims of one kind of token (RFC 7519 §4.1, RFC 8725 §3.8 to §3.12).
///
/// The caller names the kind; it is never guessed from the token. Tokens of one issuer share keys and audience, so the
/// rules of its kinds exclude each other by `events`.
package struct ClaimRules: Sendable {
    /// The requirement on an `aud` of several members.
    package enum AudienceArray: Sendable {
        /// One member at least is ours.
        case anyOurs
        /// All members are ours.
        case everyMemberOurs
    }

    /// The requirement on the claim that makes a token a security event (RFC 8417 §2.2).
    package enum EventsClaim: Sendable {
        case refused
        case required
    }

    /// The accepted issuers; without one, nothing is accepted.
    package var issuers: [String]
    /// Our audiences; without one, nothing is accepted.
    package var audiences: [String]
    package var audienceArray: AudienceArray = .anyOurs
    /// The most members of an `aud`.
    package var maximumAudiences = 16
    package var events: EventsClaim = .refused
    /// Whether `exp` must be present and in the future. If not, it is ignored: an event does not become untrue.
    package var requiresExpiry: Bool = true
    package var requiresSubject: Bool = true
    /// Whether `jti` must be present.
    package var requiresTokenID: Bool = false
    /// Seconds by which the issuer's clock may differ from ours.
    package var leeway: Int = 60
    /// Seconds for which a token counts beyond its `exp`, for the same reason; `nil`: the same.
    package var expiryLeeway: Int?
    /// The most seconds from `iat` to `exp`. Apple's tokens live for a day, Google's for an hour; 300 s are for
    /// rounding on their side. Checked only where `exp` is.
    package var maximumLifetime: Int? = 86_400 + 300
    /// Whether one slash at the end of an issuer is ignored: RISC tokens have been seen with and without one.
    package var ignoresIssuerTrailingSlash: Bool = false

    package init(
        issuers: [String], audiences: [String], audienceArray: AudienceArray = .anyOurs,
        events: EventsClaim = .refused, requiresExpiry: Bool = true, requiresSubject: Bool = true,
        requiresTokenID: Bool = false
    ) {
        self.issuers = issuers
        self.audiences = audiences
        self.audienceArray = audienceArray
        self.events = events
        self.requiresExpiry = requiresExpiry
        self.requiresSubject = requiresSubject
        self.requiresTokenID = requiresTokenID
    }

    /// The rules of an Apple notification or a Google security event token: no expiry (RFC 8417 §2.2), an id by which a
    /// repetition is known, and the subject inside the event. Google's names the client IDs of a whole project, as many as fit
    /// into a token.
    package static func securityEvent(issuers: [String], audiences: [String]) -> ClaimRules {
        var rules = ClaimRules(
            issuers: issuers, audiences: audiences, events: .required, requiresExpiry: false, requiresSubject: false,
            requiresTokenID: true)
        rules.maximumAudiences = 256
        return rules
    }

    /// Checks `events`, `iss`, `aud`, `exp`, `nbf`, `iat`, the lifetime, `sub` and `jti`, in this order; the first
    /// fault decides.
    ///
    /// | fault | `TokenRejection` |
    /// |---|---|
    /// | a required claim is absent | `claimMissing` |
    /// | a claim has the wrong type, or a value that it cannot have | `claimInvalid` |
    /// | `events` where none belongs | `eventToken` |
    /// | another issuer; not our audience | `issuerRejected`; `audienceRejected` |
    /// | `exp` ≤ now − leeway, or the one of `exp` | `expired` |
    /// | `nbf` or `iat` > now + leeway | `notYetValid` |
    /// | `exp` − `iat` > `maximumLifetime` | `lifetimeRejected` |
    ///
    /// - Parameter now: seconds since 1970, read once for the whole verification.
    package func check(_ token: VerifiedToken, at now: Int64) throws(TokenRejection) -> CheckedClaims {
        let claims = token.claims
        let (issuer, audience) = try checkParties(of: token)
        let earliest = Duration.seconds(now) - .seconds(expiryLeeway ?? leeway)
        let latest = Duration.seconds(now) + .seconds(leeway)

        let expiry = requiresExpiry ? try Self.required(Self.date("exp", of: claims)) : nil
        if let expiry, expiry.sinceEpoch <= earliest { throw .expired }
        if let notBefore = try Self.date("nbf", of: claims), notBefore.sinceEpoch > latest { throw .notYetValid }
        let issued = try Self.required(Self.date("iat", of: claims))
        guard issued.sinceEpoch <= latest else { throw .notYetValid }
        if let expiry, let maximumLifetime, expiry.sinceEpoch - issued.sinceEpoch > .seconds(maximumLifetime) {
            throw .lifetimeRejected
        }
        return CheckedClaims(
            issuer: issuer, audience: audience,
            subject: requiresSubject ? try Self.identifier("sub", of: claims) : nil,
            tokenID: requiresTokenID ? try Self.identifier("jti", of: claims) : nil,
            issuedAt: issued.seconds, expiresAt: expiry?.seconds)
    }

    /// Whether a token that was checked before is still in its time.
    ///
    /// - Parameters:
    ///   - issuedAt: `iat`, as ``CheckedClaims`` has it.
    ///   - expiresAt: `exp`, likewise.
    package func admits(issuedAt: Int64, expiresAt: Int64, at now: Int64) -> Bool {
        expiresAt > now - Int64(expiryLeeway ?? leeway) && issuedAt <= now + Int64(leeway)
    }

    /// Checks `events`, `iss` and `aud` alone: whether the issuer made the token for us, though it may be out of date.
    ///
    /// - Returns: the issuer as configured, and the first of our audiences that the token names.
    package func checkParties(of token: VerifiedToken) throws(TokenRejection) -> (issuer: String, audience: String) {
        let claims = token.claims
        switch (events, claims["events"] != nil) {
        case (.refused, true): throw .eventToken
        case (.required, false): throw .claimMissing
        case (.refused, false), (.required, true): break
        }
        return (try issuer(of: claims), try audience(of: claims))
    }

    private func issuer(of claims: JSONValue) throws(TokenRejection) -> String {
        let claim = try Self.required(claims["iss"])
        guard claim.kind == .string else { throw .claimInvalid }
        for issuer in issuers where claim.isString(equalTo: issuer) { return issuer }
        if ignoresIssuerTrailingSlash, let text = claim.string {
            for issuer in issuers where Self.withoutSlash(text).elementsEqual(Self.withoutSlash(issuer)) {
                return issuer
            }
        }
        throw .issuerRejected
    }

    private static func withoutSlash(_ issuer: String) -> Substring.UTF8View {
        issuer.utf8.last == UInt8(ascii: "/") ? issuer.utf8.dropLast() : issuer.utf8[...]
    }

    /// One string, or an array of at most `maximumAudiences`, all of them strings (RFC 7519 §4.1.3).
    private func audience(of claims: JSONValue) throws(TokenRejection) -> String {
        let claim = try Self.required(claims["aud"])
        if claim.kind == .string {
            guard let audience = ours(claim) else { throw .audienceRejected }
            return audience
        }
        guard let members = claim.elements, members.count <= maximumAudiences,
            members.allSatisfy({ $0.kind == .string })
        else { throw .claimInvalid }
        let matches = members.compactMap(ours)
        guard let audience = matches.first, audienceArray == .anyOurs || matches.count == members.count else {
            throw .audienceRejected
        }
        return audience
    }

    private func ours(_ claim: JSONValue) -> String? { audiences.first { claim.isString(equalTo: $0) } }

    private static func date(_ name: String, of claims: JSONValue) throws(TokenRejection) -> NumericDate? {
        guard let claim = claims[name] else { return nil }
        guard let date = claim.date else { throw .claimInvalid }
        return date
    }

    /// 1 to 255 bytes without control characters; PostgreSQL text cannot hold U+0000.
    private static func identifier(_ name: String, of claims: JSONValue) throws(TokenRejection) -> String {
        let claim = try required(claims[name])
        guard let text = claim.string, 1...255 ~= text.utf8.count, !claim.hasControlCharacters else {
            throw .claimInvalid
        }
        return text
    }

    private static func required<Claim>(_ claim: Claim?) throws(TokenRejection) -> Claim {
        guard let claim else { throw .claimMissing }
        return claim
    }
}

/// The claims common to all kinds of tokens, checked by `ClaimRules`.
package struct CheckedClaims: Equatable, Sendable {
    /// The issuer as configured: the claim, except perhaps for a slash at its end.
    package let issuer: String
    /// The first of our audiences that the token names.
    package let audience: String
    /// `sub`, where the rules require it.
    package let subject: String?
    /// `jti`, where the rules require it.
    package let tokenID: String?
    /// Seconds since 1970, a fraction dropped.
    package let issuedAt: Int64
    /// Seconds since 1970, a fraction dropped; `nil` where the rules do not require it.
    package let expiresAt: Int64?
}
