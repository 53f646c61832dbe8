package import Accounts

/// A provider's endpoints that exchange codes for refresh tokens, check these and revoke them.
///
/// No request is sent twice in here: a code is good once, so after a lost answer it is unknown whether it still is
/// (RFC 6749 §4.1.2). To repeat a check or a revocation, call again.
package protocol TokenEndpoint: Sendable {
    /// Sends the code, and checks the returned ID token by the provider's rules for a posted one: issued to the code's
    /// client, its `at_hash` and `c_hash`, where present, those of the access token and the code.
    ///
    /// - Parameter timeout: for the request. Verifying waits for keys only if the token has an unknown one.
    func exchange(
        _ code: AuthorizationCode, nonce: NonceExpectation, timeout: Duration, at now: Timestamp
    ) async throws(EndpointRefusal) -> ExchangedCode

    /// Returns once the token is revoked, also if it was before.
    func revoke(_ refreshToken: ProviderRefreshToken, of clientID: ProviderClientID, at now: Timestamp)
        async throws(EndpointRefusal)

    /// Returns if the provider still honours the token.
    func check(_ refreshToken: ProviderRefreshToken, of clientID: ProviderClientID, at now: Timestamp)
        async throws(EndpointRefusal)
}
