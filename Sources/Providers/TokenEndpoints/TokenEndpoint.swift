package import Accounts

/// Where a provider turns codes into refresh tokens and ends them again.
///
/// Nothing in here is ever sent twice: a code is good once, so after a lost answer nobody knows whether it still is
/// (RFC 6749 §4.1.2). Whoever wants to repeat a check or a revocation calls again.
package protocol TokenEndpoint: Sendable {
    /// Sends the code, and believes the ID token that comes back after the provider's rules for a posted one: issued to
    /// the code's client, its `at_hash` the access token's, its `c_hash`, if it has one, the code's.
    ///
    /// - Parameter timeout: for the request. Verifying waits for keys only if the token has an unknown one.
    func exchange(
        _ code: AuthorizationCode, nonce: NonceExpectation, timeout: Duration, at now: Timestamp
    ) async throws(EndpointRefusal) -> ExchangedCode

    /// Returns once the token is dead, also if it was before.
    func revoke(_ refreshToken: String, of clientID: String, at now: Timestamp) async throws(EndpointRefusal)

    /// Returns when the provider still honours the token.
    func check(_ refreshToken: String, of clientID: String, at now: Timestamp) async throws(EndpointRefusal)
}
