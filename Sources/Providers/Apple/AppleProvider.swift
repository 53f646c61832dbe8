package import Accounts
package import Curl
import JOSE
import JSON
package import Logging
import OpenSSL

/// Sign in with Apple: the rules for an identity token.
package struct AppleProvider: IdentityProvider {
    package struct Configuration: Sendable {
        /// A developer team. A subject is unique within one team only, so each team has a realm of its own.
        package struct Team: Sendable {
            package var realm: Realm
            /// Bundle IDs and Services IDs. Without one, no token is accepted.
            package var clientIDs: [ProviderClientID]

            package init(realm: Realm = .main, clientIDs: [ProviderClientID]) {
                self.realm = realm
                self.clientIDs = clientIDs
            }
        }

        /// The teams; a client ID belongs to one of them.
        package var teams: [Team]
        package var issuers: [String]
        package var keysURL: String
        package var nonceForm: NonceForm

        package init(
            teams: [Team], issuers: [String] = ["https://appleid.apple.com"],
            keysURL: String = "https://appleid.apple.com/auth/keys", nonceForm: NonceForm = .sha256Hex
        ) {
            self.teams = teams
            self.issuers = issuers
            self.keysURL = keysURL
            self.nonceForm = nonceForm
        }
    }

    /// Apple's keys name RS256 and one of its pages ES256: the key decides, and it is bound to one of the two.
    private static let algorithms: [SignatureAlgorithm] = [.rs256, .es256]

    package let configuration: Configuration
    package let keys: KeySource
    private let rules: ClaimRules

    package init(configuration: Configuration, keys: KeySource) {
        self.configuration = configuration
        self.keys = keys
        rules = ClaimRules(
            issuers: configuration.issuers, audiences: configuration.teams.flatMap(\.clientIDs).map(\.text))
    }

    /// Makes a provider with its own cache of Apple's keys; the caller has to `run()` the cache.
    package init(configuration: Configuration, fetcher: any Fetcher, clock: any WallClock, logger: Logger) {
        let cache = KeySetCache(
            provider: .apple, url: configuration.keysURL, fetcher: fetcher, clock: clock, logger: logger)
        self.init(configuration: configuration, keys: .cache(cache))
    }

    package func credential(
        _ token: [UInt8], nonce: NonceExpectation, expectedClientID: ProviderClientID?, at now: Timestamp
    ) async throws(CredentialRefusal) -> VerifiedCredential {
        let token = try await signedToken(token, algorithms: Self.algorithms)
        return try refusing { () throws(TokenRejection) in
            // Notifications share issuer, keys and audience with identity tokens; `events`, which the rules refuse,
            // distinguishes them.
            let checked = try rules.check(token, at: now.seconds)
            let claims = token.claims
            let team = try team(of: claims, audience: checked.audience)
            if case .posted(let nonce) = nonce { try checkNonce(of: claims, posted: nonce) }
            if let expectedClientID {
                try claims.checkClient(expected: expectedClientID)
                // Apple issues a token to one client. One that says to be another's as well is not of this flow alone.
                guard claims["aud"]?.elements?.count ?? 1 == 1 else { throw .clientRejected }
            }
            let identity = VerifiedIdentity(
                key: IdentityKey(provider: .apple, realm: team.realm, subject: try claims.subject("sub")),
                email: ClaimedEmail(claims)?.atApple, clientID: ProviderClientID(checked.audience),
                authenticatedAt: try claims.authenticationTime(issuedAt: checked.issuedAt),
                issuedAt: Timestamp(seconds: checked.issuedAt),
                nonce: claims["nonce"]?.string,
                transferSubject: claims["transfer_sub"] == nil ? nil : try claims.subject("transfer_sub"))
            return VerifiedCredential(identity: identity, claims: claims)
        }
    }

    package func owner(of token: [UInt8], issuedTo clientID: ProviderClientID) async -> IdentityKey? {
        do {
            let token = try await signedToken(token, algorithms: Self.algorithms)
            let team = try team(of: token.claims, audience: rules.checkParties(of: token).audience)
            try token.claims.checkClient(expected: clientID)
            return IdentityKey(provider: .apple, realm: team.realm, subject: try token.claims.subject("sub"))
        } catch {
            return nil
        }
    }

    /// The team of a token. A subject has its meaning only within the team's realm, so all of the token's audiences must be
    /// clients of one team.
    func team(of claims: JSONValue, audience: String) throws(TokenRejection) -> Configuration.Team {
        let team = configuration.teams.first { $0.clientIDs.contains(ProviderClientID(audience)) }
        guard let team,
            claims["aud"]?.elements?.allSatisfy({ name in team.clientIDs.contains { name.isString(equalTo: $0.text) } })
                ?? true
        else { throw .audienceRejected }
        return team
    }

    /// Apple includes a nonce only if the app gave one: a nonce that is not posted belongs to another sign-in.
    private func checkNonce(of claims: JSONValue, posted: String?) throws(TokenRejection) {
        if let posted {
            try claims.checkNonce(posted: posted, form: configuration.nonceForm)
        } else if claims["nonce"] != nil {
            throw .nonceMissing
        }
    }
}
