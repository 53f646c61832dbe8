package import Accounts
package import KeyRing
import OpenSSL
package import Postgres
import Primitives

/// A deviation of the audit trail from its seals.
package struct AuditFinding: Sendable, Equatable {
    package enum Fault: Sendable, Equatable {
        /// The rows that a seal covers were changed, or the seal itself was.
        case changed
        case missing(Int64)
        case added(Int64)
        /// Rows whose time is more than `AuditVerification.tolerance` before the seal before or the trail's beginning, or
        /// after their own seal: what adds to the trail can't know what it held then.
        case misdated(Int64)
        /// Rows from before the last seal that no seal covers: of a transaction that is in the future.
        case neverSealed(Int64)
        /// Seals before this one are gone.
        case sealsMissing(Int64)
        case keyMissing(String)
        /// Seals that the head counts are missing from the end, with this many rows.
        case cutOff(seals: Int64, rows: Int64)
        /// There are seals and no head.
        case headMissing
        /// The head's code is not that of the last seal under this key ring.
        case headChanged
        /// The seal that was noted elsewhere is a different one here, or missing.
        case notAsNoted
        case halted(AuditHalt)
    }

    package let fault: Fault
    /// The seal at which it shows.
    package let sealNumber: Int64?
    /// When the seal before it was made; `nil` for the first.
    package let from: Timestamp?
    package let to: Timestamp?

    package init(fault: Fault, sealNumber: Int64? = nil, from: Timestamp? = nil, to: Timestamp? = nil) {
        self.fault = fault
        self.sealNumber = sealNumber
        self.from = from
        self.to = to
    }
}

/// The last seal of the trail.
package struct AuditHead: Sendable, Equatable {
    package let number: Int64
    /// The number of rows that this seal and all before it cover.
    package let totalCount: Int64
    /// The seal's code, over everything before it.
    package let code: [UInt8]

    /// The number of octets of the code that are shown.
    package static let shownOctets = 8

    /// The form in which an operator keeps it: `NUMBER:CODE`.
    package var text: String { "\(number):\(Hexadecimal.encode(code.prefix(AuditHead.shownOctets)))" }
}

/// The result of a check of the whole trail.
package struct AuditReport: Sendable {
    package var findings: [AuditFinding] = []
    /// Whether there were more findings than are kept.
    package var isCutShort = false
    package var sealCount: Int64 = 0
    package var rowCount: Int64 = 0
    package var head: AuditHead?
    /// The number of rows that no seal covers yet.
    package var unsealedCount: Int64 = 0
    /// Whether the role that checks may change or delete rows, which none but the owner should.
    package var isRewritable = false
    /// Whether the part had more rows than were to be compared; none was.
    package var isTooLong = false
}

/// A check of every row of the audit trail against the seals, page by page: it takes the same memory however long the
/// trail is.
package struct AuditVerification: Sendable {
    /// The most findings that are kept.
    package static let findingLimit = 100
    /// The columns of `audit_events` that are checked.
    package static var coveredColumns: [String] { AuditRow.columnNames }
    /// Seconds between a row's time and its seal's that are still those of a slow transaction, or of clocks that differ.
    package static let tolerance: Int64 = 600

    private let database: Database
    private let keyRing: KeyRing

    package init(database: Database, keyRing: KeyRing) {
        self.database = database
        self.keyRing = keyRing
    }

    /// Where months were taken away, the check begins behind the anchor that was left of them.
    ///
    /// - Parameters:
    ///   - since: the check begins after the last seal before this time, which is trusted: rows from before may be
    ///     gone.
    ///   - until: the check ends with the first seal after this time; rows of a transaction that took longer are under a
    ///     later one.
    ///   - maximumRows: a part with more of them is not compared.
    ///   - noted: a seal's number and the beginning of its code, as they were kept elsewhere.
    /// - Throws: `AuditHalt.columnsUnknown` when a later release's seals can't be checked.
    package func run(
        since: Timestamp? = nil, until: Timestamp? = nil, maximumRows: Int64 = .max,
        noted: (number: Int64, code: [UInt8])? = nil
    ) async throws -> AuditReport {
        while true {
            let anchor = try await AuditSeals.anchor(in: database, keyRing)
            let report = try await run(
                since: since, until: until, maximumRows: maximumRows, noted: noted, behind: anchor)
            // Months that were taken away meanwhile would be missed.
            let end = try await AuditSeals.anchor(in: database, keyRing)
            if report.findings.isEmpty || anchor?.seal.number == end?.seal.number { return report }
        }
    }

    private func run(
        since: Timestamp?, until: Timestamp?, maximumRows: Int64, noted: (number: Int64, code: [UInt8])?,
        behind anchor: StoredAuditSeal?
    ) async throws -> AuditReport {
        var report = AuditReport()
        let (last, head) = try await end()
        // Rows that a later release has sealed would look changed; none of them is before this end if its columns are
        // not here yet.
        if let halt = try await AuditSeals.columnsUnknown(in: database) { throw halt }
        try inspect(head, last, &report)
        // One that went with its month is vouched for by the anchor.
        if let noted, noted.number >= anchor?.seal.number ?? 0,
            try await !code(of: noted.number).starts(with: noted.code)
        {
            report.add(AuditFinding(fault: .notAsNoted, sealNumber: noted.number))
        }
        if let last {
            report.head = AuditHead(number: last.seal.number, totalCount: last.seal.totalCount, code: last.code)
            let end = try await seal(until.map(AuditSeals.first(after:))) ?? last
            let base = [anchor, try await seal(since.map(AuditSeals.last(before:)))].compactMap(\.self).max {
                $0.seal.number < $1.seal.number
            }
            report.isTooLong = end.seal.totalCount.saturatingSubtracting(base?.seal.totalCount ?? 0) > maximumRows
            guard !report.isTooLong else { return report }
            try await walk(to: end.seal, after: base, &report)
        }
        if let anchor {
            let count = try await count(anchor.seal.position.andAllBefore)
            if count > 0 { report.add(AuditFinding(fault: .added(count), sealNumber: anchor.seal.number)) }
        }
        let isUnsealed: SQL = "(\(AuditPosition.columns)) > \((last?.seal.position ?? .start).row)"
        report.unsealedCount = try await count(isUnsealed)
        if let last, report.unsealedCount > 0 {
            let overdue = last.seal.createdAt.advanced(bySeconds: -Self.tolerance)
            let count = try await count("\(isUnsealed) AND created_at < \(overdue)")
            if count > 0 { report.add(AuditFinding(fault: .neverSealed(count), sealNumber: last.seal.number)) }
        }
        report.isRewritable = try await isRewritable()
        return report
    }

    /// Both from one snapshot: a seal that is made meanwhile is in both or in neither.
    private func end() async throws -> (StoredAuditSeal?, StoredAuditHead?) {
        try await database.transaction(.repeatableRead) { transaction in
            (try await AuditSeals.last(in: transaction), try await AuditSeals.head(in: transaction))
        }
    }

    private func inspect(_ head: StoredAuditHead?, _ last: StoredAuditSeal?, _ report: inout AuditReport) throws {
        guard let head else {
            if let last { report.add(AuditFinding(fault: .headMissing, sealNumber: last.seal.number)) }
            return
        }
        let sealed = last?.seal.number ?? 0
        if head.number > sealed {
            let rows = head.totalCount.saturatingSubtracting(last?.seal.totalCount ?? 0)
            report.add(
                AuditFinding(
                    fault: .cutOff(seals: head.number.saturatingSubtracting(sealed), rows: rows),
                    sealNumber: head.number,
                    from: last?.seal.createdAt))
        } else if let key = keyRing.subkey(head.keyID, for: .audit) {
            if let last, try !head.names(last, key: key) {
                report.add(AuditFinding(fault: .headChanged, sealNumber: head.number))
            }
        } else {
            report.add(AuditFinding(fault: .keyMissing(head.keyID), sealNumber: head.number))
        }
    }

    private func walk(to end: AuditSeal, after base: StoredAuditSeal?, _ report: inout AuditReport) async throws {
        var previous = base
        var rows = AuditPages(after: previous?.seal.position ?? .start, in: database)
        var missingKeys: Set<String> = []
        while case let page = try await AuditSeals.page(
            after: previous?.seal.number ?? 0, upTo: end.number, in: database), !page.isEmpty
        {
            for stored in page {
                let seal = stored.seal
                var finding = AuditFinding(
                    fault: .changed, sealNumber: seal.number, from: previous?.seal.createdAt, to: seal.createdAt)
                let gap = seal.number.saturatingSubtracting(previous?.seal.number ?? 0).saturatingSubtracting(1)
                if gap > 0 { report.add(finding.with(.sealsMissing(gap))) }
                // Without the seals before it, the number of rows follows from the total.
                let expected =
                    gap > 0 ? seal.totalCount.saturatingSubtracting(previous?.seal.totalCount ?? 0) : seal.rowCount
                let (found, covered) = try await rows.take(upTo: seal.position)
                if found < expected {
                    report.add(finding.with(.missing(expected.saturatingSubtracting(found))))
                } else if found > expected {
                    report.add(finding.with(.added(found.saturatingSubtracting(expected))))
                } else if gap == 0 {
                    if let key = keyRing.subkey(seal.keyID, for: .audit) {
                        let code = try seal.code(following: previous?.code, over: covered, key: key)
                        if !code.matches(stored.code) { report.add(finding) }
                    } else if missingKeys.insert(seal.keyID).inserted {
                        finding = finding.with(.keyMissing(seal.keyID))
                        report.add(finding)
                    }
                }
                let misdated = covered.count { !seal.mayCover($0, after: previous?.seal) }
                if misdated > 0 { report.add(finding.with(.misdated(Int64(misdated)))) }
                report.sealCount += 1
                report.rowCount += found
                previous = stored
            }
            guard !report.isCutShort else { return }
        }
    }

    private func seal(_ statement: SQL?) async throws(PostgresError) -> StoredAuditSeal? {
        guard let statement else { return nil }
        return try await database.query(statement, as: StoredAuditSeal.init).first
    }

    private func code(of number: Int64) async throws(PostgresError) -> [UInt8] {
        try await database.query("SELECT mac FROM audit_seals WHERE seal_number = \(number)", as: [UInt8].self).first
            ?? []
    }

    private func isRewritable() async throws(PostgresError) -> Bool {
        try await database.query(
            "SELECT has_table_privilege('audit_events', 'UPDATE, DELETE, TRUNCATE')", as: Bool.self
        ).first ?? false
    }

    /// The number of rows that meet a condition.
    private func count(_ condition: SQL) async throws(PostgresError) -> Int64 {
        try await Database.planningEachTime { () async throws(PostgresError) in
            try await database.query("SELECT count(*) FROM audit_events WHERE \(condition)", as: Int64.self)
        }.first ?? 0
    }
}

extension AuditSeal {
    /// Whether the row's time is between the seal before, or the trail's beginning, and this one, or near. The first seal
    /// of an earlier release says no beginning.
    fileprivate func mayCover(_ row: AuditRow, after previous: AuditSeal?) -> Bool {
        let tolerance = AuditVerification.tolerance
        if row.createdAt > createdAt.advanced(bySeconds: tolerance) { return false }
        return (previous?.createdAt ?? beginsAt).map { row.createdAt >= $0.advanced(bySeconds: -tolerance) } ?? true
    }
}

extension AuditFinding {
    fileprivate func with(_ fault: Fault) -> AuditFinding {
        AuditFinding(fault: fault, sealNumber: sealNumber, from: from, to: to)
    }
}

extension AuditReport {
    fileprivate mutating func add(_ finding: AuditFinding) {
        guard findings.count < AuditVerification.findingLimit else {
            isCutShort = true
            return
        }
        findings.append(finding)
    }
}
