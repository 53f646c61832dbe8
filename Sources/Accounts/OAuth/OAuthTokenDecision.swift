/// What is stored of a refresh token of a client that rotates them (RFC 9700 §4.14.2).
package struct OAuthTokenLineage: Hashable, Sendable {
    /// Whether the successor was used, or another token was issued in this one's place.
    package let isSuperseded: Bool
    /// When its unused successor was issued; nil while it has none.
    package let successorIssuedAt: Timestamp?

    package init(isSuperseded: Bool, successorIssuedAt: Timestamp?) {
        self.isSuperseded = isSuperseded
        self.successorIssuedAt = successorIssuedAt
    }
}

/// The decision on a refresh token of an OAuth client. Unlike a session's, an unused successor may be replaced any number
/// of times: a client's servers share a token, and how many answers they lose together has no bound.
package enum OAuthTokenDecision: Hashable, Sendable {
    /// Answer with a new successor, in place of an unused one.
    case rotated
    /// Answer with the successor that was issued then: the client refreshes twice at once, or again after a lost answer.
    case repeated(issuedAt: Timestamp)
    /// Two parties have the chain, so it ends.
    case reused
}

extension OAuthTokenLineage {
    /// Decides what becomes of the token, which has come now.
    package func presented(at now: Timestamp) -> OAuthTokenDecision {
        guard !isSuperseded else { return .reused }
        guard let successorIssuedAt, now <= successorIssuedAt.advanced(bySeconds: Lifetimes.refreshRetrySeconds) else {
            return .rotated
        }
        return .repeated(issuedAt: successorIssuedAt)
    }
}
