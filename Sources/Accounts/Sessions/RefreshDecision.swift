/// The state of a session's refresh tokens: the newest generation, the one whose use made it, and when and from where that
/// was.
package struct RefreshLineage: Hashable, Sendable {
    /// How often an unused newest token has been replaced since the rotation, by where that was asked for from.
    package struct Replacements: Hashable, Sendable {
        package let sameNetwork: Int32
        package let otherNetwork: Int32

        package init(sameNetwork: Int32 = 0, otherNetwork: Int32 = 0) {
            self.sameNetwork = sameNetwork
            self.otherNetwork = otherNetwork
        }
    }

    package let generation: Int32
    package let parent: Int32
    /// When the newest was made: by the rotation, or in place of one that was never used.
    package let rotatedAt: Timestamp
    /// The IPv4 /24 or IPv6 /64 from which the rotation, that is the first use of the parent, was asked for; `nil`
    /// if unrecorded.
    package let network: Network?
    package let replacements: Replacements

    package init(
        generation: Int32, parent: Int32, rotatedAt: Timestamp, network: Network? = nil,
        replacements: Replacements = Replacements()
    ) {
        self.generation = generation
        self.parent = parent
        self.rotatedAt = rotatedAt
        self.network = network
        self.replacements = replacements
    }
}

/// The decision on a refresh token of an authentic generation.
package enum RefreshDecision: Hashable, Sendable {
    /// Answer with the token of `lineage.generation`; store the lineage when it changed.
    case renewed(RefreshLineage)
    /// Two parties hold the session, so it ends: a dead token was used, or the parent more often than one client loses
    /// answers.
    case reused
    /// Issued behind what the database was restored to. The session ends: an older token, which may be another party's, is
    /// the newest that the database knows of.
    case lost
    /// Never issued by a lineage that this database could have lost only one step of.
    case unknown
}

extension RefreshLineage {
    /// The most replacements in a row: from the rotation's network a client with a bad connection asks; from others one
    /// that moves, or another party.
    package static let maximumReplacements = Replacements(sameNetwork: 10, otherNetwork: 2)

    /// What the first use of the newest token makes of any lineage; `nil` for the last generations.
    package static func firstUse(of newest: Int32, from network: Network?, at now: Timestamp) -> RefreshLineage? {
        guard newest < Int32.max - 2 else { return nil }
        return RefreshLineage(generation: newest + 1, parent: newest, rotatedAt: now, network: network)
    }

    /// Decides what becomes of a token of the given generation whose authenticity has been checked.
    ///
    /// - Parameters:
    ///   - network: the IPv4 /24 or IPv6 /64 that it came from.
    ///   - isRestored: whether the session is older than a restore of the database, which has lost more than one step.
    package func presented(
        _ presented: Int32, from network: Network?, isRestored: Bool = false, at now: Timestamp
    ) -> RefreshDecision {
        guard generation < Int32.max - 2 else { return .reused }
        if isRestored, presented > generation { return .lost }
        if presented == generation || presented == generation + 1 {
            // One ahead: a failover lost the rotation that issued it.
            return RefreshLineage.firstUse(of: presented, from: network, at: now).map { .renewed($0) } ?? .reused
        }
        guard presented == parent else { return presented < generation ? .reused : .unknown }
        if now <= rotatedAt.advanced(bySeconds: Lifetimes.refreshRetrySeconds) { return .renewed(self) }
        // The successor was never used, so its holder seems not to have received it: it is replaced by another.
        guard let replacements = replacements.counting(isSameNetwork: isOfRotation(network)) else { return .reused }
        return .renewed(
            RefreshLineage(
                generation: generation + 1, parent: presented, rotatedAt: now, network: self.network,
                replacements: replacements))
    }

    /// Whether the network is known to be the rotation's. An unknown one counts as another: what can't be compared never
    /// has the larger allowance.
    private func isOfRotation(_ network: Network?) -> Bool { network != nil && network == self.network }
}

extension RefreshLineage.Replacements {
    /// With one more; `nil` when that is one too many.
    fileprivate func counting(isSameNetwork: Bool) -> Self? {
        let maximum = RefreshLineage.maximumReplacements
        if isSameNetwork {
            guard sameNetwork < maximum.sameNetwork else { return nil }
            return Self(sameNetwork: sameNetwork + 1, otherNetwork: otherNetwork)
        }
        guard otherNetwork < maximum.otherNetwork else { return nil }
        return Self(sameNetwork: sameNetwork, otherNetwork: otherNetwork + 1)
    }
}
