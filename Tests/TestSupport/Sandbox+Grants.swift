import JSON
package import OpenSSL
import Primitives

extension Sandbox {
    /// The differences between the answer to a code and the one that the provider would give.
    package struct ExchangeChanges: Sendable {
        /// The changes of the ID token in the answer.
        package var token = TokenChanges()
        package var omitsIDToken = false
        /// No refresh token is made, so there is none to revoke either.
        package var omitsRefreshToken = false
        /// JSON text of an object: members of the answer to set, to any value.
        package var answer = "{}"
        package var withoutAnswer: [String] = []

        package init(
            token: TokenChanges = TokenChanges(), omitsIDToken: Bool = false, omitsRefreshToken: Bool = false,
            answer: String = "{}", withoutAnswer: [String] = []
        ) {
            self.token = token
            self.omitsIDToken = omitsIDToken
            self.omitsRefreshToken = omitsRefreshToken
            self.answer = answer
            self.withoutAnswer = withoutAnswer
        }

        func write(_ writer: inout JSONWriter) throws {
            try writer.object("exchange") { writer in
                try token.write(&writer)
                writer.member("omitIdToken", omitsIDToken)
                writer.member("omitRefreshToken", omitsRefreshToken)
                writer.member("answer", try JSONValue(parsing: Array(answer.utf8)))
                writer.member("withoutAnswer", withoutAnswer)
            }
        }
    }

    /// A provider's record of a person and a client.
    package struct Authorization: Sendable, Equatable {
        package let person: String
        /// The server client at Google.
        package let clientID: String
        /// nil at Google.
        package let teamID: String?
        package let subject: String
        /// Whether the person has consented, so that the next authorization is not a first one.
        package let isConsented: Bool
        /// The grants in the order of their issue, ended ones included.
        package let grants: [Grant]
    }

    /// One refresh token.
    package struct Grant: Sendable, Equatable {
        package enum Ending: String, Sendable {
            case revoke
            case withdraw
            /// At Google: a newer token exceeded the limit of a hundred.
            case limit
            /// At Google: six months without use.
            case disuse
        }

        /// The `Sandbox.fingerprint` of the token.
        package let refreshToken: String
        package let isLive: Bool
        /// RFC 3339, by the sandbox's clock, as is `endedAt`.
        package let issuedAt: String
        package let endedAt: String?
        package let endedBy: Ending?
        /// The number of successful refreshes.
        package let checks: Int64
        /// The number of refreshes less than a day after the one before.
        package let hastyChecks: Int64
        /// The number of revoke requests for this token: the one that ended it and any later ones.
        package let revocations: Int64
    }

    /// An app that a team has accepted from another one.
    package struct Transfer: Sendable, Equatable {
        /// RFC 3339; `endsAt` is sixty days later.
        package let acceptedAt: String
        package let endsAt: String
        /// The names of the persons who used the app then.
        package let persons: [String]
    }

    // MARK: Clients

    /// Lets a team sign client secrets with this key; `publicKeyPEM` is a SubjectPublicKeyInfo block (P-256). A key id
    /// that is registered again gets the new key.
    package func registerAppleKey(team: String, keyID: String, publicKeyPEM: String) async throws {
        try await control("apple/teams") { writer in
            writer.member("teamId", team)
            writer.member("keyId", keyID)
            writer.member("publicKey", publicKeyPEM)
        }
    }

    /// Registers the public half of this key.
    package func registerAppleKey(team: String = "SANDBOX001", keyID: String, _ key: P256PrivateKey) async throws {
        try await control("apple/teams") { writer in
            writer.member("teamId", team)
            writer.member("keyId", keyID)
            writer.object("publicKey") { writer in
                writer.member("kty", "EC")
                writer.member("crv", "P-256")
                writer.member("x", Base64URL.encode(key.x))
                writer.member("y", Base64URL.encode(key.y))
            }
        }
    }

    /// From now on client secrets signed with this key are refused.
    package func revokeAppleKey(team: String = "SANDBOX001", keyID: String) async throws {
        try await control("apple/teams") { writer in
            writer.member("teamId", team)
            writer.member("keyId", keyID)
            writer.member("revoked", true)
        }
    }

    /// Registers a server client that may exchange codes; one that is registered again has the new secret.
    package func registerGoogleClient(_ clientID: String, secret: String) async throws {
        try await control("google/clients") { writer in
            writer.member("clientId", clientID)
            writer.member("clientSecret", secret)
        }
    }

    /// From now on Google answers `deleted_client`.
    package func deleteGoogleClient(_ clientID: String) async throws {
        try await control("google/clients") { writer in
            writer.member("clientId", clientID)
            writer.member("deleted", true)
        }
    }

    /// Transfers an app to another team, at which its users have other subjects.
    @discardableResult
    package func transferAppleApp(
        _ clientID: String, from sender: String = "SANDBOX001", to recipient: String
    ) async throws -> Transfer {
        let answer = try await control("apple/transfers") { writer in
            writer.member("clientId", clientID)
            writer.member("fromTeam", sender)
            writer.member("toTeam", recipient)
        }
        return Transfer(
            acceptedAt: try Self.text(answer, "acceptedAt"), endsAt: try Self.text(answer, "endsAt"),
            persons: (answer["persons"]?.elements ?? []).compactMap(\.string))
    }

    // MARK: Authorizations

    /// The person stops using Apple's sign-in for this client: all tokens end, the next authorization is a first one.
    package func withdrawApple(_ person: String, clientID: String) async throws {
        try await withdraw(.apple, person, clientID: clientID)
    }

    /// The person removes the app from the Google account; `clientID` is the server client.
    package func withdrawGoogle(_ person: String, clientID: String) async throws {
        try await withdraw(.google, person, clientID: clientID)
    }

    /// What `withdrawApple` and `withdrawGoogle` do, at either provider.
    package func withdraw(_ provider: Provider, _ person: String, clientID: String) async throws {
        try await control("\(provider.rawValue)/withdraw") { writer in
            writer.member("person", person)
            writer.member("clientId", clientID)
        }
    }

    /// The records of all persons and clients so far, sorted by name.
    package func authorizations(_ provider: Provider) async throws -> [Authorization] {
        let items = try await control("\(provider.rawValue)/authorizations")["items"]?.elements ?? []
        return try items.map { item in
            Authorization(
                person: try Self.text(item, "person"), clientID: try Self.text(item, "clientId"),
                teamID: item["teamId"]?.string, subject: try Self.text(item, "subject"),
                isConsented: item["consented"]?.bool == true,
                grants: try (item["grants"]?.elements ?? []).map(Self.grant))
        }
    }

    /// The record of one person and one client; nil when there is none.
    package func authorization(
        _ provider: Provider, _ person: String, clientID: String
    ) async throws -> Authorization? {
        try await authorizations(provider).first { $0.person == person && $0.clientID == clientID }
    }

    private static func grant(_ item: JSONValue) throws -> Grant {
        Grant(
            refreshToken: try text(item, "refreshToken"), isLive: item["live"]?.bool == true,
            issuedAt: try text(item, "issuedAt"), endedAt: item["endedAt"]?.string,
            endedBy: item["endedBy"]?.string.flatMap(Grant.Ending.init), checks: item["checks"]?.integer ?? 0,
            hastyChecks: item["hastyChecks"]?.integer ?? 0, revocations: item["revocations"]?.integer ?? 0)
    }
}
