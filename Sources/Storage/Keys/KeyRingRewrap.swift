import Accounts
package import KeyRing
import OpenSSL
package import Postgres

/// A run that seals again, under the first line of the key ring, what is sealed under another one.
///
/// The progress is in the values themselves, each of which names its line: a run that was interrupted is simply
/// repeated, and several at once do no harm. It goes page by page, while the service runs. A value is replaced only if
/// it is still the one that was read, and a locked row is left to the next round, a moment later.
package struct KeyRingRewrap: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case grants
        case signingKeys = "signing keys"
        case imports
    }

    package struct Progress: Sendable {
        package let kind: Kind
        /// The number of values sealed again so far.
        package var done: Int
        /// The number of values to seal again when it began.
        package let total: Int64
        /// The number of values that are still under another line, be it one of the first line's id.
        package var left: Int64
        /// The number of these that can't be opened.
        package var unreadable = 0
        /// The row of the first of them.
        package var row: String?
        /// Why that one can't be opened.
        package var reason: SealError?
        /// The number of those that bear the first line's id.
        fileprivate var foreign: Int64 = 0
    }

    /// A page of values as they were read, and as they are to be written.
    private struct Page: Sendable {
        var rows = 0
        var last: GrantID
        var ids: [GrantID] = []
        var old: [[UInt8]] = []
        var new: [[UInt8]] = []
        var prefixes: [[UInt8]] = []
        var digests: [[UInt8]] = []
    }

    private static let page = 500
    /// The pauses between two rounds over all rows, in which other runs and transactions end. What is left after the
    /// last round is locked for longer, or written by a process whose first line is another one.
    package static let pauses: [Duration] = (0..<6).map { .milliseconds(100 << $0) }

    private let database: Database
    private let keyRing: KeyRing
    private let pauses: [Duration]

    package init(database: Database, keyRing: KeyRing, pauses: [Duration] = KeyRingRewrap.pauses) {
        self.database = database
        self.keyRing = keyRing
        self.pauses = pauses
    }

    /// - Parameter report: called after every page.
    /// - Returns: the final progress of each kind.
    package func run(report: @Sendable (Progress) -> Void = { _ in }) async throws -> [Progress] {
        let signingKeys = try await rewrapSigningKeys()
        report(signingKeys)
        let imports = try await rewrapImports()
        report(imports)
        return [try await rewrapGrants(report), signingKeys, imports]
    }

    // MARK: - Grants

    private func rewrapGrants(_ report: @Sendable (Progress) -> Void) async throws -> Progress {
        let total = try await count("provider_grants", "sealed_refresh_token")
        var progress = Progress(kind: .grants, done: 0, total: total, left: total)
        for pause in [.zero] + pauses {
            try await Task.sleep(for: pause)
            (progress.unreadable, progress.foreign, progress.row, progress.reason) = (0, 0, nil, nil)
            var last: GrantID?
            repeat {
                let page = try await read(after: last, &progress)
                progress.done += try await write(page)
                report(progress)
                last = page.rows < KeyRingRewrap.page ? nil : page.last
            } while last != nil
            progress.left = try await count("provider_grants", "sealed_refresh_token") + progress.foreign
            guard progress.left > progress.unreadable else { break }
        }
        return progress
    }

    private func read(after last: GrantID?, _ progress: inout Progress) async throws -> Page {
        let start = last ?? GrantID(now: Timestamp(seconds: 0), random: [])
        let rows = try await database.query(
            """
            SELECT grant_id, sealed_refresh_token
            FROM provider_grants
            WHERE grant_id > \(start)
            ORDER BY grant_id
            LIMIT \(KeyRingRewrap.page)
            """, as: GrantID.self, [UInt8].self)
        var page = Page(rows: rows.count, last: rows.last?.0 ?? start)
        let mark = keyRing.currentMark
        for (id, sealed) in rows {
            guard let token = opened(sealed, for: .grants, at: SealedGrant.location(id), &progress),
                !sealed.starts(with: mark)
            else { continue }
            let fingerprints = try ProviderTokenFingerprints(of: token, key: keyRing.current(for: .grants))
            page.ids.append(id)
            page.old.append(sealed)
            page.new.append(try keyRing.seal(token, for: .grants, at: SealedGrant.location(id)))
            page.prefixes.append(fingerprints.prefix)
            page.digests.append(fingerprints.digest)
        }
        return page
    }

    /// Writes many rows in one statement, which waits for none of them: so it can't deadlock with transactions that
    /// lock grants one by one.
    private func write(_ page: Page) async throws(PostgresError) -> Int {
        guard !page.ids.isEmpty else { return 0 }
        return try await database.execute(
            """
            WITH fresh AS (
                SELECT *
                FROM unnest(\(page.ids), \(page.old), \(page.new), \(page.prefixes), \(page.digests))
                    AS f (grant_id, old, new, prefix, digest)
            ), locked AS (
                SELECT g.grant_id
                FROM provider_grants g
                JOIN fresh f ON f.grant_id = g.grant_id AND f.old = g.sealed_refresh_token
                FOR NO KEY UPDATE OF g SKIP LOCKED
            )
            UPDATE provider_grants g
            SET sealed_refresh_token = f.new, prefix_fingerprint = f.prefix, digest_fingerprint = f.digest
            FROM fresh f
            JOIN locked l ON l.grant_id = f.grant_id
            WHERE g.grant_id = f.grant_id AND g.sealed_refresh_token = f.old
            """)
    }

    // MARK: - Signing keys, and the keys of the digests by which imported rows are known

    private func rewrapSigningKeys() async throws -> Progress {
        let keys = try await SigningKeyStore(database: database).keys().map { key in
            (key.sealedPrivateKey, StoredSigningKey.location(keyID: key.keyID), "key_id = \(key.keyID)" as SQL)
        }
        return try await rewrap(.signingKeys, keys, for: .signing, in: "signing_keys", "sealed_private_key")
    }

    private func rewrapImports() async throws -> Progress {
        let imports = try await database.query(
            "SELECT import_id, sealed_key FROM imports", as: ImportID.self, [UInt8].self)
        let keys = imports.map { id, sealed in (sealed, ImportStore.location(id), "import_id = \(id)" as SQL) }
        return try await rewrap(.imports, keys, for: .imports, in: "imports", "sealed_key")
    }

    /// All at once, as there are few of them.
    ///
    /// - Parameter keys: each sealed, with its location and the condition of its row.
    private func rewrap(
        _ kind: Kind, _ keys: [([UInt8], SealedLocation, SQL)], for purpose: KeyRing.Purpose, in table: SQL,
        _ column: SQL
    ) async throws -> Progress {
        let total = try await count(table, column)
        var progress = Progress(kind: kind, done: 0, total: total, left: total)
        for (sealed, location, isRow) in keys {
            guard let opened = opened(sealed, for: purpose, at: location, &progress),
                !sealed.starts(with: keyRing.currentMark)
            else { continue }
            let new = try keyRing.seal(opened, for: purpose, at: location)
            progress.done += try await database.execute(
                "UPDATE \(table) SET \(column) = \(new) WHERE \(isRow) AND \(column) = \(sealed)")
        }
        progress.left = try await count(table, column) + progress.foreign
        return progress
    }

    // MARK: - Values under another line

    /// What is sealed; `nil` when it can't be opened, which is noted.
    private func opened(
        _ sealed: [UInt8], for purpose: KeyRing.Purpose, at location: SealedLocation, _ progress: inout Progress
    ) -> [UInt8]? {
        do {
            return try keyRing.open(sealed, for: purpose, at: location)
        } catch {
            if progress.unreadable == 0 { (progress.row, progress.reason) = (location.row, error) }
            progress.unreadable += 1
            if sealed.starts(with: keyRing.currentMark) { progress.foreign += 1 }
            return nil
        }
    }

    /// The number of values under another id than the first line's.
    private func count(_ table: SQL, _ column: SQL) async throws(PostgresError) -> Int64 {
        let mark = keyRing.currentMark
        let counts = try await database.query(
            """
            SELECT count(*) FROM \(table)
            WHERE substring(\(column) FROM 1 FOR \(Int32(mark.count))) <> \(mark)
            """, as: Int64.self)
        return counts.first ?? 0
    }
}
