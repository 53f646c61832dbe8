import JOSE

/// What an app asks Google for, and what `GIDSignInResult` or the Credential Manager would bring it.
struct GoogleAuthorization: Sendable {
    enum Scope: String, CaseIterable, Sendable {
        case email
        case profile
    }

    var person: String
    /// The client that the token is for: the server's, or the app's own when it has no server client.
    var clientID: String
    /// The app's own client; nil leaves the claim out.
    var authorizedParty: String?
    var nonce: String?
    /// Any JSON in the place of the client id.
    var audience: JSONValue?
    var scopes: Set<Scope> = Set(Scope.allCases)
    var overrides = TokenOverrides.none

    static let memberNames = ["person", "clientId", "azp", "nonce", "audience", "scopes", "token"]

    init(_ members: ControlMembers) throws(ControlRefusal) {
        person = try members.text("person")
        clientID = try members.clientID()
        authorizedParty = clientID
        try members.change(&authorizedParty, "azp")
        nonce = try members.optionalText("nonce")
        audience = members.raw("audience")
        scopes = try members.choices("scopes", of: Scope.self) ?? scopes
        if let token = try members.object("token", allowed: TokenOverrides.memberNames) {
            overrides = try TokenOverrides(token)
        }
    }
}

/// Google's side of one authorization.
struct GoogleAuthorizer: Sendable {
    let accounts: GoogleAccounts
    let mint: TokenMint
    let issuer: String
    let seed: Seed
    let clock: SandboxClock

    /// One hour, as Sign in with Google documents it.
    static let lifetime: Int64 = 3600

    struct Result: Sendable {
        let userID: String
        let idToken: String
        let serverAuthCode: String
        let accessToken: String
        let email: String?
        let name: String?
    }

    func authorize(_ request: GoogleAuthorization) async throws -> Result {
        let (person, ordinal) = try accounts.authorize(request.person)
        let subject = person.subject(seed: seed)
        let place = String(ordinal)
        let accessToken = "ya29." + seed.alphanumeric(120, for: "google.access", place)

        var claims = ClaimSet()
        let period = request.overrides.period(at: clock.now, lifetime: Self.lifetime)
        claims.set("iss", issuer)
        claims.set("azp", request.authorizedParty)
        claims.set("aud", request.audience.map { .json($0) } ?? .string(request.clientID))
        claims.set("sub", subject)
        claims.set("hd", person.hostedDomain)
        let sharesEmail = request.scopes.contains(.email)
        if sharesEmail, let email = person.email {
            claims.set("email", email)
            claims.set("email_verified", .bool(person.emailVerified))
        }
        claims.set("at_hash", HalfHash.text(of: accessToken))
        claims.set("nonce", request.nonce)
        let sharesProfile = request.scopes.contains(.profile)
        if sharesProfile {
            claims.set("name", person.displayName)
            claims.set("picture", person.picture)
            claims.set("given_name", person.givenName)
            claims.set("family_name", person.familyName)
        }
        claims.set("iat", .integer(period.issued))
        claims.set("exp", .integer(period.expires))

        return Result(
            userID: subject,
            idToken: try await mint.mint(claims, overrides: request.overrides),
            serverAuthCode: "4/0A" + seed.alphanumeric(69, for: "google.code", place),
            accessToken: accessToken,
            email: sharesEmail ? person.email : nil,
            name: sharesProfile ? person.displayName : nil)
    }
}
