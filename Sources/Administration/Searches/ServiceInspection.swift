package import Accounts
package import Storage

/// What the console shows of the service itself: its backlogs, its keys, its processes, and whether the trail is as it was
/// sealed.
package struct ServiceInspection: Sendable {
    private let database: ServiceDatabase
    private let clock: any WallClock

    package init(database: ServiceDatabase, clock: any WallClock) {
        self.database = database
        self.clock = clock
    }

    /// What a comparison of a part of the trail with its seals has found.
    package struct TrailVerification: Sendable {
        package let rowCount: Int64
        package let sealCount: Int64
        /// Deviations; there may be more than are counted.
        package let findingCount: Int
        /// Whether there were too many rows to compare them for a page.
        package let isTooLong: Bool
        /// From when on rows have no seal yet; `nil` when each has.
        package let unsealedSince: Timestamp?
    }

    /// The most rows that are compared for a page.
    private static let verifiedRows: Int64 = 100_000

    /// Compares a part of the trail with its seals.
    ///
    /// - Parameter range: the times of the rows.
    package func verifyTrail(
        in range: ClosedRange<Timestamp>
    ) async throws(AdministrationFailure) -> TrailVerification {
        let report = try await stored {
            try await database.auditVerification.run(
                since: range.lowerBound, until: range.upperBound, maximumRows: Self.verifiedRows)
        }
        let unsealedSince = try await stored { try await database.seals.oldestUnsealed() }
        return TrailVerification(
            rowCount: report.rowCount, sealCount: report.sealCount, findingCount: report.findings.count,
            isTooLong: report.isTooLong, unsealedSince: unsealedSince)
    }

    /// What was brought in from other systems, without the number of its accounts.
    package func imports() async throws(AdministrationFailure) -> [ImportRecord] {
        try await stored { try await database.imports.records.list(countsAccounts: false) }
    }

    /// A key that signs access tokens, without the key.
    package struct SigningKeySummary: Sendable {
        package let id: String
        /// `next`, `signing` or `verifying`.
        package let state: String
        package let createdAt: Timestamp
        package let signsFrom: Timestamp
        package let signsUntil: Timestamp?
    }

    package func signingKeys() async throws(AdministrationFailure) -> [SigningKeySummary] {
        let now = clock.now()
        return try await stored { try await database.signingKeys.keys() }.states(at: now).map { key, state in
            SigningKeySummary(
                id: key.keyID, state: state.rawValue, createdAt: key.createdAt, signsFrom: key.signsFrom,
                signsUntil: key.signsUntil)
        }
    }

    package func connections() async throws(AdministrationFailure) -> [ServiceConnections] {
        try await stored { try await database.inspection.connections() }
    }

    package func standing() async throws(AdministrationFailure) -> ServiceStanding {
        let now = clock.now()
        return try await stored {
            let databaseTime = try await database.databaseTime()
            return ServiceStanding(
                takenAt: now, secondsAhead: now.seconds - databaseTime.seconds,
                revocations: try await database.revocations.backlog(),
                mails: try await database.mails.backlog(at: now),
                events: try await database.providerEvents.records.backlog(),
                unsealedSince: try await database.seals.oldestUnsealed(),
                failures: try await database.outbox.list(status: .failed, before: nil, limit: 5).items)
        }
    }
}

/// The state of the service as far as the database knows it.
package struct ServiceStanding: Sendable {
    package let takenAt: Timestamp
    /// By which this machine's clock is ahead of the database's.
    package let secondsAhead: Int64
    package let revocations: OutboxBacklog
    package let mails: OutboxBacklog
    package let events: OutboxBacklog
    /// The time of the oldest row of the trail that no seal covers; `nil` when each is covered.
    package let unsealedSince: Timestamp?
    /// The effects that were given up last.
    package let failures: [OutboxRecord]
}
