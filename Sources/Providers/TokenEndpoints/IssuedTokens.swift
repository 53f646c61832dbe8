import Accounts
import JOSE
import JSON
import Logging

/// The tokens that a token endpoint issued for a code (RFC 6749 §5.1, OpenID Connect Core 1.0 §3.1.3.3). Members that we
/// don't use, `token_type` among them, are ignored.
struct IssuedTokens {
    static let maximumBytes = 4_096

    let accessToken: String
    let idToken: [UInt8]
    let refreshToken: ProviderRefreshToken?

    init(_ answer: JSONValue, logger: Logger) throws(EndpointRefusal) {
        guard let accessToken = Self.token(answer["access_token"]) else { throw .unexpectedAnswer }
        self.accessToken = accessToken
        // Without one the owner of the code is unknown, and the code is not refused either.
        guard let idToken = answer["id_token"] else { throw .unavailable(detail: "id_token_missing") }
        // It can't say whose the refresh token beside it is.
        guard let bytes = idToken.stringBytes else {
            throw .credentialRejected(CredentialRefusal(.malformed), leaving: nil)
        }
        self.idToken = bytes
        let refreshToken = answer["refresh_token"]
        self.refreshToken = Self.token(refreshToken).map { ProviderRefreshToken($0) }
        if refreshToken != nil, self.refreshToken == nil {
            logger.warning("refresh token dropped: empty, too long or not of printable ASCII")
        }
    }

    /// A token of printable ASCII (RFC 6749 appendix A.12 and A.17); `nil` for anything else.
    static func token(_ member: JSONValue?) -> String? {
        guard let text = member?.string, 1...maximumBytes ~= text.utf8.count,
            text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return nil }
        return text
    }
}

extension IdentityProvider {
    /// Checks the ID token by the provider's rules, and that the access token and the code belong to it.
    func exchanged(
        _ tokens: IssuedTokens, for code: AuthorizationCode, nonce: NonceExpectation, at now: Timestamp
    ) async throws(EndpointRefusal) -> ExchangedCode {
        do throws(CredentialRefusal) {
            let credential = try await issued(tokens.idToken, nonce: nonce, to: code.clientID, at: now)
            try credential.checkHash(ofAccessToken: tokens.accessToken)
            try credential.checkHash(ofCode: code.text)
            return ExchangedCode(identity: credential.identity, refreshToken: tokens.refreshToken)
        } catch {
            // Without its key the token can't be judged: the provider itself makes up no `kid`.
            guard error.reason != .keysUnavailable, error.reason != .keyUnknown else {
                throw .unavailable(detail: error.reason.rawValue)
            }
            throw .credentialRejected(error, leaving: await stray(tokens, of: code))
        }
    }

    /// The key of a token that the provider has just issued may be newer than the set.
    private func issued(
        _ token: [UInt8], nonce: NonceExpectation, to clientID: ProviderClientID, at now: Timestamp
    ) async throws(CredentialRefusal) -> VerifiedCredential {
        do {
            return try await credential(token, nonce: nonce, expectedClientID: clientID, at: now)
        } catch {
            guard error.reason == .keyUnknown else { throw error }
            await keys.refetch()
            return try await credential(token, nonce: nonce, expectedClientID: clientID, at: now)
        }
    }

    private func stray(_ tokens: IssuedTokens, of code: AuthorizationCode) async -> StrayGrant? {
        guard let refreshToken = tokens.refreshToken,
            let owner = await owner(of: tokens.idToken, issuedTo: code.clientID)
        else { return nil }
        return StrayGrant(owner: owner, refreshToken: refreshToken)
    }
}
