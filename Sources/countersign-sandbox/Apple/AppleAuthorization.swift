import JOSE

/// What an app asks Apple for, and what `ASAuthorizationAppleIDCredential` would bring it.
struct AppleAuthorization: Sendable {
    enum Scope: String, CaseIterable, Sendable {
        case email
        case fullName
    }

    var person: String
    var clientID: String
    var nonce: String?
    /// Any JSON in the place of the client id.
    var audience: JSONValue?
    var scopes: Set<Scope> = Set(Scope.allCases)
    /// Apple is seen to do both: to repeat the address in later tokens, and to leave it out.
    var repeatsEmail = false
    var overrides = TokenOverrides.none

    static let memberNames = ["person", "clientId", "nonce", "audience", "scopes", "repeatEmail", "token"]

    init(_ members: ControlMembers) throws(ControlRefusal) {
        person = try members.text("person")
        clientID = try members.clientID()
        nonce = try members.optionalText("nonce")
        audience = members.raw("audience")
        scopes = try members.choices("scopes", of: Scope.self) ?? scopes
        repeatsEmail = try members.flag("repeatEmail")
        if let token = try members.object("token", allowed: TokenOverrides.memberNames) {
            overrides = try TokenOverrides(token)
        }
    }
}

/// Apple's side of one authorization.
struct AppleAuthorizer: Sendable {
    let accounts: AppleAccounts
    let mint: TokenMint
    let issuer: String
    let seed: Seed
    let clock: SandboxClock

    /// As current tokens have it; older ones lived 600 s.
    static let lifetime: Int64 = 86_400

    struct Credential: Sendable {
        let user: String
        let identityToken: String
        let authorizationCode: String
        /// First authorization only, as the SDK has it: Apple tells an app these once.
        let email: String?
        let givenName: String?
        let familyName: String?
        let realUserStatus: Int64?
    }

    func authorize(_ request: AppleAuthorization) async throws -> Credential {
        let granted = try accounts.authorize(request.person, clientID: request.clientID)
        let person = granted.person
        let subject = person.subject(team: granted.team, seed: seed)
        let email = request.scopes.contains(.email) ? person.address(team: granted.team, seed: seed) : nil
        let code = code(ordinal: granted.ordinal)

        var claims = ClaimSet()
        let period = request.overrides.period(at: clock.now, lifetime: Self.lifetime)
        claims.set("iss", issuer)
        claims.set("aud", request.audience.map { .json($0) } ?? .string(request.clientID))
        claims.set("exp", .integer(period.expires))
        claims.set("iat", .integer(period.issued))
        claims.set("sub", subject)
        claims.set("nonce", request.nonce)
        claims.set("c_hash", HalfHash.text(of: code))
        if let email, granted.isFirst || request.repeatsEmail {
            claims.set("email", email)
            claims.set("email_verified", .bool(person.emailVerified))
            claims.set("is_private_email", .bool(person.hidesEmail))
        }
        claims.set("auth_time", .integer(period.issued))
        claims.set("nonce_supported", .bool(true))
        if granted.isFirst { claims.set("real_user_status", .integer(person.realUserStatus)) }
        if person.isManaged { claims.set("org_id", "org." + seed.hexadecimal(16, for: "apple.org", granted.team)) }

        let named = granted.isFirst && request.scopes.contains(.fullName)
        return Credential(
            user: subject,
            identityToken: try await mint.mint(claims, overrides: request.overrides),
            authorizationCode: code,
            email: granted.isFirst ? email : nil,
            givenName: named ? person.givenName : nil,
            familyName: named ? person.familyName : nil,
            realUserStatus: granted.isFirst ? person.realUserStatus : nil)
    }

    private func code(ordinal: Int) -> String {
        let place = String(ordinal)
        return "c" + seed.hexadecimal(32, for: "apple.code", place) + ".0."
            + seed.lowercase(4, for: "apple.code.zone", place) + "."
            + seed.alphanumeric(22, for: "apple.code.tail", place)
    }
}
