/// The end of a person's authorization at a provider: an outbox row until the provider has carried it out.
package struct Revocation: Hashable, Sendable {
    package let id: RevocationID
    package let provider: Provider
    /// `nil` for one of a link ticket's grant.
    package let identityID: IdentityID?
    package let status: OutboxStatus
    package let attempts: Int
    /// An error code, of ours or the provider's.
    package let lastError: String?
    package let createdAt: Timestamp
    package let finishedAt: Timestamp?

    package init(
        id: RevocationID, provider: Provider, identityID: IdentityID?, status: OutboxStatus, attempts: Int,
        lastError: String?, createdAt: Timestamp, finishedAt: Timestamp?
    ) {
        self.id = id
        self.provider = provider
        self.identityID = identityID
        self.status = status
        self.attempts = attempts
        self.lastError = lastError
        self.createdAt = createdAt
        self.finishedAt = finishedAt
    }

    /// The ``lastError`` when there was nothing to revoke.
    package static let noGrant = "no_grant"
}

/// The schedule of attempts after one that failed: 1, 2, 4 … seconds later, at most an hour, each ± 20 % so that rows
/// that failed together are not retried together.
package enum RetrySchedule {
    /// With an hour between the later ones, four days: longer than a weekend without an operator.
    package static let maximumAttempts = 108

    /// - Parameters:
    ///   - attempts: how many have failed, at least one.
    ///   - jitter: from 0 to 1, at random.
    /// - Returns: microseconds; `nil` when there were enough.
    package static func delay(after attempts: Int, jitter: Double) -> Int64? {
        guard attempts < maximumAttempts else { return nil }
        let seconds = attempts > 12 ? 3600 : min(3600, 1 << (max(1, attempts) - 1))
        return Int64(Double(seconds) * 1_000_000 * (0.8 + 0.4 * min(max(jitter, 0), 1)))
    }
}

/// A provider refresh token, stored sealed.
package enum ProviderGrant {}

package typealias RevocationID = Identifier<Revocation>
package typealias GrantID = Identifier<ProviderGrant>
