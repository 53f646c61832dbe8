package import Accounts
import Storage

/// What administrators look at on pages, beside what the admin API lists.
extension Administration {
    // MARK: People

    /// The accounts that a text of support's may mean: an address, else the id of an account, an identity or a session,
    /// else `apple:` or `google:` and a subject, else a whole name, else the beginning of an address. Of these the first
    /// under which there is somebody; an empty text means everybody.
    package func people(
        matching text: String, after cursor: AccountCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<AccountRecord, AccountCursor> {
        guard !text.isEmpty else { return try await accounts(AccountFilter(), after: cursor, limit: limit) }
        if cursor == nil, let id = try await accountID(named: text) {
            guard let record = try await stored({ try await database.accountSearch.account(id) }) else {
                return Page(items: [], next: nil)
            }
            return Page(items: [record], next: nil)
        }
        // A list by the beginning of an address continues at an address, the others at an account.
        let readings = AccountFilter.readings(of: text).filter { filter in
            cursor.map { ($0.email != nil) == (filter.emailPrefix != nil) } ?? true
        }
        for filter in readings {
            let page = try await accounts(filter, after: cursor, limit: limit)
            if !page.items.isEmpty || page.next != nil { return page }
        }
        return Page(items: [], next: nil)
    }

    private func accountID(named text: String) async throws(AdministrationFailure) -> AccountID? {
        if let id = AccountID(text), try await stored({ try await database.accountSearch.account(id) }) != nil {
            return id
        }
        if let id = IdentityID(text), let found = try await stored({ try await database.accountSearch.account(of: id) })
        {
            return found.account.id
        }
        guard let id = SessionID(text) else { return nil }
        return try await stored { try await database.accountSearch.account(of: id) }
    }

    package func details(of account: Account) async throws(AdministrationFailure) -> AccountDetails {
        try await stored { try await database.accountSearch.details(of: account) }
    }

    // MARK: Records

    package func providerEvent(_ id: ProviderEventID) async throws(AdministrationFailure) -> StoredProviderEvent {
        guard let event = try await stored({ try await database.providerEvents.records.event(id) }) else {
            throw .notFound
        }
        return event
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

    // MARK: Keys

    /// All keys, revoked ones too, the oldest first.
    package func adminKeys() async throws(AdministrationFailure) -> [AdminKey] {
        try await stored { try await database.adminKeys.list() }
    }

    package func revokeKey(_ id: AdminKeyID, by administrator: Administrator) async throws(AdministrationFailure) {
        guard try await stored({ try await database.adminKeys.revoke(id, by: administrator.call) }) else {
            throw .notFound
        }
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

    // MARK: The service

    package func connections() async throws(AdministrationFailure) -> [ServiceConnections] {
        try await stored { try await database.inspection.connections() }
    }

    package func standing() async throws(AdministrationFailure) -> ServiceStanding {
        let now = clock.now()
        return try await stored {
            let databaseTime = try await database.databaseTime()
            return ServiceStanding(
                takenAt: now, secondsAhead: now.seconds - databaseTime.seconds,
                revocations: try await database.revocations.backlog(), mails: try await database.mails.backlog(),
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

extension AccountFilter {
    /// What a text of a search may mean, in this order.
    fileprivate static func readings(of text: String) -> [AccountFilter] {
        var readings: [AccountFilter] = []
        func add(_ set: (inout AccountFilter) -> Void) {
            var filter = AccountFilter()
            set(&filter)
            readings.append(filter)
        }
        if let email = EmailAddress(text) { add { $0.email = email } }
        for provider in Provider.allCases where text.hasPrefix("\(provider.rawValue):") {
            guard let subject = ProviderSubject(String(text.dropFirst(provider.rawValue.count + 1))) else { continue }
            add {
                $0.provider = provider
                $0.subject = subject
            }
        }
        add { $0.name = text }
        if let prefix = EmailAddress.prefix(text) { add { $0.emailPrefix = prefix } }
        return readings
    }
}
