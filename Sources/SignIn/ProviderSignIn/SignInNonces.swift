package import Accounts
import JOSE
import Storage

/// The nonces that this service issues for sign-ins, and the spending of them.
package struct SignInNonces: Sendable {
    let issued: IssuedNonces
    let store: NonceStore
    let policy: NoncePolicy
    let providers: IdentityProviders
    let clock: any WallClock

    /// A nonce for the next sign-in at the provider. Nothing is written until it is spent.
    package func issue(for provider: Provider) throws(SignInFailure) -> IssuedNonce {
        _ = try providers.rules(of: provider)
        do {
            return try issued.new(for: provider, at: clock.now())
        } catch {
            throw .fault(operation: "nonce")
        }
    }

    /// The nonce of this service that a sign-in has to spend.
    ///
    /// - Returns: `nil` when the policy lets apps make up their own nonces, and the posted one is such or absent.
    func nonceToSpend(_ posted: String?, for provider: Provider, by call: Call) throws(SignInFailure) -> IssuedNonce? {
        switch policy {
        case .optional:
            guard let posted, IssuedNonce.isClaimed(by: posted) else { return nil }
        case .required:
            guard posted != nil else { throw .credentialRejected(.nonceMissing, retryAfter: nil) }
        }
        guard let posted, let nonce = issued.read(posted, for: provider, at: call.now) else {
            throw .credentialRejected(.nonceSpent, retryAfter: nil)
        }
        return nonce
    }

    /// Refuses a token with a nonce of this service where none was posted: it would be good more than once.
    func requirePosted(_ posted: String?, for identity: VerifiedIdentity) throws(SignInFailure) {
        guard posted != nil || identity.nonce.map(IssuedNonce.isClaimed(by:)) != true else {
            throw .credentialRejected(.nonceMissing, retryAfter: nil)
        }
    }

    /// Refuses a nonce that is already spent, without spending it.
    func requireUnspent(_ nonce: IssuedNonce) async throws(SignInFailure) {
        guard try await !stored({ try await store.isSpent(nonce.hash) }) else {
            throw .credentialRejected(.nonceSpent, retryAfter: nil)
        }
    }

    /// Spends a nonce. Exactly one of several concurrent spenders succeeds.
    func spend(_ nonce: IssuedNonce, by call: Call) async throws(SignInFailure) {
        guard try await stored({ try await store.spend(nonce.hash, expiresAt: nonce.expiresAt, by: call) }) else {
            throw .credentialRejected(.nonceSpent, retryAfter: nil)
        }
    }
}
