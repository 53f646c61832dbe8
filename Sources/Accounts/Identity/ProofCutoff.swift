/// The times before which a provider's proofs of an identity count no more. The two differ: a provider renews tokens
/// without asking the person again, so a token with an old `auth_time` may be new.
package struct ProofCutoff: Hashable, Sendable {
    /// Compared with the time when a token was issued; `nil` when none was ever refused.
    package let tokens: Timestamp?
    /// Compared with the time when the person authenticated; likewise.
    package let authentications: Timestamp?

    package init(tokens: Timestamp?, authentications: Timestamp? = nil) {
        self.tokens = tokens
        self.authentications = authentications
    }

    /// Whether a token that was issued then, to a person who authenticated then, still counts. A whole second decides, as
    /// `iat` and `auth_time` have no fraction: what is of the cutoff's own second counts.
    package func admits(issuedAt: Timestamp, authenticatedAt: Timestamp) -> Bool {
        admits(issuedAt: issuedAt) && ProofCutoff.admits(authenticatedAt, from: authentications)
    }

    /// Whether a token that was issued then counts, whenever the person authenticated.
    package func admits(issuedAt: Timestamp) -> Bool { ProofCutoff.admits(issuedAt, from: tokens) }

    private static func admits(_ time: Timestamp, from cutoff: Timestamp?) -> Bool {
        cutoff.map { time >= Timestamp(seconds: $0.seconds) } ?? true
    }
}
