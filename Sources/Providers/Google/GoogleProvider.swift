package import Accounts
import JOSE
import JSON
import OpenSSL

/// Sign in with Google: the rules for an ID token.
package struct GoogleProvider: IdentityProvider {
    package struct Configuration: Sendable {
        /// The server, iOS and Android clients of all projects: a subject is the same in each of them. Without one, no token
        /// is accepted.
        package var clientIDs: [ProviderClientID]
        /// The allowed values of `azp`. When not empty, `azp` must be one of them.
        package var authorizedParties: [ProviderClientID]
        /// Whether a token without `azp` is refused when there are ``authorizedParties``.
        package var requiresParty = true
        /// The allowed values of `hd`. When not empty, `hd` must be present.
        package var hostedDomains: [String]
        package var issuers: [String]
        package var keysURL: String
        package var nonceForm: NonceForm

        package init(
            clientIDs: [ProviderClientID], authorizedParties: [ProviderClientID] = [], hostedDomains: [String] = [],
            issuers: [String] = ["https://accounts.google.com", "accounts.google.com"],
            keysURL: String = "https://www.googleapis.com/oauth2/v3/certs", nonceForm: NonceForm = .raw
        ) {
            self.clientIDs = clientIDs
            self.authorizedParties = authorizedParties
            self.hostedDomains = hostedDomains
            self.issuers = issuers
            self.keysURL = keysURL
            self.nonceForm = nonceForm
        }
    }

    /// The one algorithm of Google's discovery document.
    private static let algorithms: [SignatureAlgorithm] = [.rs256]

    package let configuration: Configuration
    package let keys: KeySource
    private let rules: ClaimRules

    package init(configuration: Configuration, keys: KeySource) {
        self.configuration = configuration
        self.keys = keys
        rules = ClaimRules(
            issuers: configuration.issuers, audiences: configuration.clientIDs.map(\.text),
            audienceArray: .everyMemberOurs)
    }

    package func credential(
        _ token: [UInt8], nonce: NonceExpectation, expectedClientID: ProviderClientID?, at now: Timestamp
    ) async throws(CredentialRefusal) -> VerifiedCredential {
        let token = try await signedToken(token, algorithms: Self.algorithms)
        return try refusing { () throws(TokenRejection) in
            // Security event tokens have the same issuer and audiences; `events`, which the rules refuse, distinguishes
            // them.
            let checked = try rules.check(token, at: now.seconds)
            let claims = token.claims
            try checkParty(of: claims)
            // The SDKs make up a nonce of their own when the app gives none, so one that is not posted means nothing here.
            if case .posted(let nonce?) = nonce {
                try claims.checkNonce(posted: nonce, form: configuration.nonceForm)
            }
            try checkDomain(of: claims)
            if let expectedClientID { try claims.checkClient(expected: expectedClientID) }
            let identity = VerifiedIdentity(
                key: IdentityKey(provider: .google, realm: .main, subject: try claims.subject("sub")),
                email: ClaimedEmail(claims)?.atGoogle(isHosted: hostedDomain(of: claims) != nil),
                clientID: ProviderClientID(checked.audience),
                authenticatedAt: try claims.authenticationTime(issuedAt: checked.issuedAt),
                issuedAt: Timestamp(seconds: checked.issuedAt),
                nonce: claims["nonce"]?.string,
                name: claims["name"]?.string.flatMap(DisplayName.init))
            return VerifiedCredential(identity: identity, claims: claims)
        }
    }

    package func owner(of token: [UInt8], issuedTo clientID: ProviderClientID) async -> IdentityKey? {
        do {
            let token = try await signedToken(token, algorithms: Self.algorithms)
            _ = try rules.checkParties(of: token)
            try token.claims.checkClient(expected: clientID)
            return IdentityKey(provider: .google, realm: .main, subject: try token.claims.subject("sub"))
        } catch {
            return nil
        }
    }

    /// Checks the party that requested the token: the app, when the audience is the server (OpenID Connect Core 1.0 §2).
    private func checkParty(of claims: JSONValue) throws(TokenRejection) {
        let parties = configuration.authorizedParties
        if claims["azp"] == nil, !configuration.requiresParty { return }
        guard parties.isEmpty || parties.contains(where: { claims["azp"]?.isString(equalTo: $0.text) == true }) else {
            throw .partyRejected
        }
    }

    /// Whether the account of a token that was verified without this rule is of a Workspace domain that may sign in.
    package func admits(_ credential: VerifiedCredential) -> Bool {
        do throws(TokenRejection) {
            try checkDomain(of: credential.claims)
            return true
        } catch {
            return false
        }
    }

    private func checkDomain(of claims: JSONValue) throws(TokenRejection) {
        guard !configuration.hostedDomains.isEmpty else { return }
        guard let claim = claims["hd"] else { throw .claimMissing }
        guard configuration.hostedDomains.contains(where: claim.isString) else { throw .partyRejected }
    }

    /// The Workspace domain of the account; never to be inferred from the address.
    private func hostedDomain(of claims: JSONValue) -> String? {
        claims["hd"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }
}
