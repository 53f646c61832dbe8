package import JSON

extension Sandbox {
    /// The content of an `ASAuthorizationAppleIDCredential`.
    package struct AppleCredential: Sendable {
        package let user: String
        package let identityToken: String
        package let authorizationCode: String
        /// These four come with the first consent only.
        package let email: String?
        package let givenName: String?
        package let familyName: String?
        package let realUserStatus: Int64?
    }

    /// The content of a `GIDSignInResult`, or of a credential of Android's Credential Manager.
    package struct GoogleCredential: Sendable {
        package let userID: String
        package let idToken: String
        package let serverAuthCode: String
        package let accessToken: String
        package let email: String?
        package let name: String?
    }

    /// The differences between a token and the one that the provider would issue.
    package struct TokenChanges: Sendable {
        package enum Signature: String, Sendable {
            case valid
            case forged
            case otherKey
            case absent
        }

        /// JSON text of an object: claims to set, to any value.
        package var claims = "{}"
        package var withoutClaims: [String] = []
        /// JSON text of an object: header members to set.
        package var header = "{}"
        package var withoutHeader: [String] = []
        package var expired = false
        package var lifetime: Int64?
        package var keyID: String?
        package var signature = Signature.valid
        package var algorithm: String?
        package var booleansAsStrings = false

        package init(
            claims: String = "{}", withoutClaims: [String] = [], header: String = "{}", withoutHeader: [String] = [],
            expired: Bool = false, lifetime: Int64? = nil, keyID: String? = nil, signature: Signature = .valid,
            algorithm: String? = nil, booleansAsStrings: Bool = false
        ) {
            self.claims = claims
            self.withoutClaims = withoutClaims
            self.header = header
            self.withoutHeader = withoutHeader
            self.expired = expired
            self.lifetime = lifetime
            self.keyID = keyID
            self.signature = signature
            self.algorithm = algorithm
            self.booleansAsStrings = booleansAsStrings
        }

        func write(_ writer: inout JSONWriter) throws {
            var limits = JSONLimits.standard
            limits.maximumDepth = 600
            limits.maximumMembers = 20_000
            try writer.object("token") { writer in
                writer.member("claims", try JSONValue(parsing: Array(claims.utf8), limits: limits))
                writer.member("withoutClaims", withoutClaims)
                writer.member("header", try JSONValue(parsing: Array(header.utf8), limits: limits))
                writer.member("withoutHeader", withoutHeader)
                writer.member("expired", expired)
                if let lifetime { writer.member("lifetime", lifetime) }
                writer.member("keyId", keyID)
                writer.member("signature", signature.rawValue)
                writer.member("algorithm", algorithm)
                writer.member("booleansAsStrings", booleansAsStrings)
            }
        }
    }

    /// Creates or changes an Apple person; `members` is the JSON text of an object with the members that
    /// `docs/sandbox.md` lists, without `name`. Returns the person's subject at the default team.
    @discardableResult
    package func addApplePerson(_ name: String, _ members: String = "{}") async throws -> String {
        let person = try await addPerson(.apple, name, members)
        return try Self.text(person["teams"]?["SANDBOX001"] ?? person, "subject")
    }

    /// Like `addApplePerson`, at Google. Returns the subject.
    @discardableResult
    package func addGooglePerson(_ name: String, _ members: String = "{}") async throws -> String {
        try Self.text(try await addPerson(.google, name, members), "subject")
    }

    /// Like `addApplePerson`, at either provider. Returns what the sandbox says of the person.
    @discardableResult
    package func addPerson(_ provider: Provider, _ name: String, _ members: String = "{}") async throws -> JSONValue {
        let members = try JSONValue(parsing: Array(members.utf8)).members ?? []
        return try await control("\(provider.rawValue)/persons") { writer in
            writer.member("name", name)
            for member in members { writer.member(member.name, member.value) }
        }
    }

    /// Assigns a client to a team, at which every person has another subject than at the default team.
    package func assignAppleClient(_ clientID: String, team: String) async throws {
        try await control("apple/clients") { writer in
            writer.member("clientId", clientID)
            writer.member("teamId", team)
        }
    }

    /// The person signs in to an app with Apple.
    ///
    /// - Parameters:
    ///   - redirectURI: the redirect URI of a browser's request; nil for a native app.
    ///   - exchange: the differences of the answer to the code from Apple's.
    package func authorizeApple(
        _ person: String, clientID: String, nonce: String? = nil, audience: String? = nil, scopes: [String]? = nil,
        repeatEmail: Bool = false, token: TokenChanges = TokenChanges(), redirectURI: String? = nil,
        exchange: ExchangeChanges = ExchangeChanges()
    ) async throws -> AppleCredential {
        let answer = try await control("apple/authorize") { writer in
            writer.member("person", person)
            writer.member("clientId", clientID)
            writer.member("nonce", nonce)
            writer.member("audience", audience)
            if let scopes { writer.member("scopes", scopes) }
            writer.member("repeatEmail", repeatEmail)
            writer.member("redirectUri", redirectURI)
            try token.write(&writer)
            try exchange.write(&writer)
        }
        return AppleCredential(
            user: try Self.text(answer, "user"), identityToken: try Self.text(answer, "identityToken"),
            authorizationCode: try Self.text(answer, "authorizationCode"), email: answer["email"]?.string,
            givenName: answer["fullName"]?["givenName"]?.string, familyName: answer["fullName"]?["familyName"]?.string,
            realUserStatus: answer["realUserStatus"]?.integer)
    }

    /// The person signs in to an app with Google. `clientID` is the one the token is for; `authorizedParty` is the
    /// app's own, the same one by default, and `.some(nil)` leaves the claim out.
    ///
    /// - Parameters:
    ///   - serverClientID: the client that the code belongs to; `clientID` by default.
    ///   - forceConsent: the person is asked again, so that the exchange returns one more refresh token.
    ///   - exchange: the differences of the answer to the code from Google's.
    package func authorizeGoogle(
        _ person: String, clientID: String, authorizedParty: String?? = nil, nonce: String? = nil,
        audience: String? = nil, scopes: [String]? = nil, token: TokenChanges = TokenChanges(),
        serverClientID: String? = nil, forceConsent: Bool = false, exchange: ExchangeChanges = ExchangeChanges()
    ) async throws -> GoogleCredential {
        let answer = try await control("google/authorize") { writer in
            writer.member("person", person)
            writer.member("clientId", clientID)
            switch authorizedParty {
            case .none: break
            case .some(.none):
                writer.name("azp")
                writer.null()
            case .some(.some(let party)): writer.member("azp", party)
            }
            writer.member("nonce", nonce)
            writer.member("audience", audience)
            if let scopes { writer.member("scopes", scopes) }
            writer.member("serverClientId", serverClientID)
            writer.member("forceConsent", forceConsent)
            try token.write(&writer)
            try exchange.write(&writer)
        }
        return GoogleCredential(
            userID: try Self.text(answer, "userId"), idToken: try Self.text(answer, "idToken"),
            serverAuthCode: try Self.text(answer, "serverAuthCode"), accessToken: try Self.text(answer, "accessToken"),
            email: answer["email"]?.string, name: answer["name"]?.string)
    }

    static func text(_ object: JSONValue, _ name: String) throws -> String {
        guard let text = object[name]?.string else {
            throw SetUpFailure("countersign-sandbox answered without \(name).")
        }
        return text
    }
}
