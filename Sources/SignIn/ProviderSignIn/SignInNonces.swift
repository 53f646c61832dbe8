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
    /// - Parameter unposted: what a verified or exchanged token has where none was posted. One of this service counts
    ///   there too, or the token would be good again for who leaves it out.
    /// - Returns: `nil` when the policy lets apps make up their own nonces, and there is such or none.
    func nonceToSpend(
        _ posted: String?, or unposted: String? = nil, for provider: Provider, by call: Call
    ) throws(SignInFailure) -> IssuedNonce? {
        let text: String
        switch policy {
        case .optional:
            guard let claimed = posted ?? unposted, IssuedNonce.isClaimed(by: claimed) else { return nil }
            text = claimed
        case .required:
            guard let posted else { throw .credentialRejected(.nonceMissing, retryAfter: nil) }
            text = posted
        }
        guard let nonce = issued.read(text, for: provider, at: call.now) else {
            throw .credentialRejected(.nonceSpent, retryAfter: nil)
        }
        return nonce
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
