package import Accounts
package import Storage

/// Clears away what has had its time.
package struct Sweeping: Sendable {
    /// Seconds for which an ended ticket, and who an ended revocation was about, are kept for whoever looks into a case.
    static let retention: Int64 = 3_600
    /// Seconds for which revocations are kept that are done.
    static let revocationRetention: Int64 = 90 * 86_400
    private static let batch = 200

    private let stores: Stores
    private let clock: any WallClock

    package init(stores: Stores, clock: any WallClock) {
        self.stores = stores
        self.clock = clock
    }

    /// - Returns: how many rows it dealt with; nothing is left when there were none.
    package func sweep() async throws -> Int {
        let now = clock.now()
        let old = now.advanced(bySeconds: -Sweeping.retention)
        try await stores.revocations.eraseSubjects(endedBefore: old, limit: Sweeping.batch)
        let revocations = try await stores.revocations.deleteDone(
            before: now.advanced(bySeconds: -Sweeping.revocationRetention), limit: Sweeping.batch)
        let events = try await stores.providerEvents.deleteProcessed(
            before: now.advanced(bySeconds: -ProviderEventStore.retention), limit: Sweeping.batch)
        return try await stores.links.sweep(at: now, endedBefore: old, limit: Sweeping.batch) + events + revocations
    }
}
