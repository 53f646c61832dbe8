/// The state of a session's refresh tokens: the newest generation, the one whose use made it, and when that was.
package struct RefreshLineage: Hashable, Sendable {
    package let generation: Int32
    package let parent: Int32
    package let rotatedAt: Timestamp

    package init(generation: Int32, parent: Int32, rotatedAt: Timestamp) {
        self.generation = generation
        self.parent = parent
        self.rotatedAt = rotatedAt
    }
}

/// The decision on a refresh token of an authentic generation.
package enum RefreshDecision: Hashable, Sendable {
    /// Answer with the token of `lineage.generation`; store the lineage when it changed.
    case renewed(RefreshLineage)
    /// A superseded token was used again: two parties hold the session, so it ends.
    case reused
    /// Never issued by a lineage that this database could have lost only one step of.
    case unknown
}

extension RefreshLineage {
    /// Seconds for which the previous token gets the same successor again: a client that lost the answer retries.
    package static let retrySeconds: Int64 = 60

    /// Decides what becomes of a token of the given generation whose authenticity has been checked.
    package func presented(_ presented: Int32, at now: Timestamp) -> RefreshDecision {
        guard generation < Int32.max - 2 else { return .reused }
        if presented == generation || presented == generation + 1 {
            // One ahead: a failover lost the rotation that issued it.
            return .renewed(RefreshLineage(generation: presented + 1, parent: presented, rotatedAt: now))
        }
        if presented == parent {
            if now <= rotatedAt.advanced(bySeconds: RefreshLineage.retrySeconds) { return .renewed(self) }
            // The successor was never used, so its holder never received it: replace it by another.
            return .renewed(RefreshLineage(generation: generation + 1, parent: presented, rotatedAt: now))
        }
        return presented < generation ? .reused : .unknown
    }
}
