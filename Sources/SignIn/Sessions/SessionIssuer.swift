package import Accounts
import OpenSSL

/// Makes the rows of new sessions, and the tokens of open ones.
struct SessionIssuer: Sendable {
    let accessTokens: AccessTokens
    let refreshTokens: RefreshTokens
    let lifetimes: SessionLifetimes

    /// To be called before anything is written, or a proof is used up, of which a session's tokens are to come: the answer
    /// would be a failure, and the same request could not be sent again.
    ///
    /// - Throws: ``SignInFailure/signingUnavailable(reason:)`` while no token can be signed.
    func requireSigner(by call: Call) throws(SignInFailure) { try accessTokens.requireSigner(at: call.now) }

    /// - Throws: as ``requireSigner(by:)`` does.
    func newSession(
        authenticatedAt: Timestamp, atProvider providerTime: Timestamp? = nil, methods: [AuthenticationMethod],
        by call: Call
    ) throws(SignInFailure) -> NewSession {
        try requireSigner(by: call)
        return NewSession(
            id: try .fresh(at: call.now), authenticatedAt: min(authenticatedAt, call.now),
            providerAuthenticatedAt: providerTime.map { min($0, call.now) }, methods: methods, now: call.now,
            expiresAt: lifetimes.end(ofSessionOpenedAt: call.now, refreshedAt: call.now), device: call.caller.device,
            address: call.caller.address, requestID: call.caller.requestID, network: call.caller.network)
    }

    /// The tokens of a session as it stands.
    func issue(_ session: Session, at now: Timestamp) throws(SignInFailure) -> IssuedSession {
        do {
            return IssuedSession(
                id: session.id, accessToken: try accessTokens.token(for: session, at: now),
                expiresIn: accessTokens.lifetime(for: session, at: now),
                refreshToken: try refreshTokens.token(for: session.id, generation: session.generation),
                refreshExpiresAt: session.expiresAt)
        } catch let failure as SignInFailure {
            throw failure
        } catch {
            throw .fault(operation: "issue session")
        }
    }

    /// The answer to a sign-in that has opened `newSession`.
    func signedIn(
        _ account: Account, identityID: IdentityID?, newSession: NewSession
    ) throws(SignInFailure) -> SignedIn {
        let session = Session(
            id: newSession.id, accountID: account.id, externalID: account.externalID, identityID: identityID,
            authenticatedAt: newSession.authenticatedAt,
            methods: newSession.methods, createdAt: newSession.now, expiresAt: newSession.expiresAt, generation: 1)
        return SignedIn(
            session: try issue(session, at: newSession.now), account: account,
            identity: account.identities.first { $0.id == identityID })
    }
}

/// The two tokens of a session, as the client receives them.
package struct IssuedSession: Sendable {
    package let id: SessionID
    package let accessToken: String
    /// Seconds.
    package let expiresIn: Int64
    package let refreshToken: String
    package let refreshExpiresAt: Timestamp
}

package struct SignedIn: Sendable {
    package let session: IssuedSession
    package let account: Account
    /// The identity that opened the session; `nil` for a password or a mailed code.
    package let identity: Identity?
}

extension Identifier {
    static func fresh(at now: Timestamp) throws(SignInFailure) -> Self {
        do {
            return Identifier(now: now, random: try SecureRandom.bytes(10))
        } catch {
            throw .fault(operation: "random")
        }
    }
}
