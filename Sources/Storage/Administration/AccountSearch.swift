package import Accounts
package import Postgres

/// Lists of accounts. Each scans one index from the cursor on, so that a page costs the same among ten million accounts
/// as among a hundred. The filter decides which index is scanned; its other conditions apply to the accounts found. A
/// scan examines ``scanLimit`` accounts at most: a condition that few accounts meet gives short or even empty pages,
/// never a long scan. A page is one scan, or two of an `emailPrefix` with capitals. Scans are planned each time: the
/// choice of the index needs the limit's value.
///
/// | filter | index scanned | order |
/// |---|---|---|
/// | `email` | the unique address | – |
/// | `identityEmail` | the identities with it | account |
/// | `subject` | the identities with it | account |
/// | `externalId` | the ids in systems before | account |
/// | `name` | the lower-case name | account |
/// | `emailPrefix` | the addresses with this prefix; where its capitals may be meant, first those that have them | address |
/// | `status=disabled` | the disabled accounts | account |
/// | else | all accounts | account |
package struct AccountSearch: Sendable {
    /// The most accounts that a scan examines.
    package static let scanLimit = 10_000

    let database: Database

    package init(database: Database) { self.database = database }

    package func list(
        _ filter: AccountFilter, after cursor: AccountCursor?, limit: Int
    ) async throws(PostgresError) -> Page<AccountRecord, AccountCursor> {
        var found: [AccountCursor] = []
        var next: AccountCursor?
        for scan in filter.scans where next == nil {
            // Behind a full page one row more says whether the list goes on.
            let page = try await self.scan(scan, after: cursor, limit: max(1, limit - found.count))
            if found.count < limit {
                found += page.items
                next = page.next
            } else {
                next = page.items.isEmpty ? page.next : found.last
            }
        }
        let records = try await records(found.map(\.id))
        return Page(items: found.compactMap { records[$0.id] }, next: next)
    }

    private func scan(
        _ filter: AccountFilter, after cursor: AccountCursor?, limit: Int
    ) async throws(PostgresError) -> Page<AccountCursor, AccountCursor> {
        try await database.scannedPage(
            AccountSearch.statement(filter, after: cursor, limit: limit), limit: limit, cursor: \.self
        ) { row throws(PostgresError) in
            let (id, email, isMatch) = try row.decode(AccountID.self, String?.self, Bool.self)
            let byEmail = filter.isOrderedByEmail ? email.flatMap(EmailAddress.existing) : nil
            return (item: AccountCursor(id: id, email: byEmail), isMatch: isMatch)
        }
    }

    package func account(_ id: AccountID) async throws(PostgresError) -> AccountRecord? { try await records([id])[id] }

    package func account(of id: IdentityID) async throws(PostgresError) -> (account: Account, identity: Identity)? {
        let owners = try await database.query(
            "SELECT account_id FROM identities WHERE identity_id = \(id)", as: AccountID.self)
        guard let owner = owners.first, let account = try await self.account(owner)?.account,
            let identity = account.identities.first(where: { $0.id == id })
        else { return nil }
        return (account, identity)
    }

    private func records(_ ids: [AccountID]) async throws(PostgresError) -> [AccountID: AccountRecord] {
        let rows = try await database.query(AccountSearch.statement(ids)) { row throws(PostgresError) in
            (reason: try String?(from: row[0]), account: try AccountRow(row, from: 1))
        }
        // Once more than the account has it, since administrators see by whom and when it was requested. In a statement of
        // its own: a join would be planned by what the server guesses of a table that is nearly always empty.
        let replacements = try await EmailReplacementStore(database: database).pending(of: ids)
        return Dictionary(grouping: rows, by: \.account.account.id).compactMapValues { rows in
            AccountRow.account(rows.map(\.account)).map {
                AccountRecord(account: $0, disabledReason: rows.first?.reason, emailReplacement: replacements[$0.id])
            }
        }
    }

    package static func statement(_ ids: [AccountID]) -> SQL {
        """
        SELECT a.disabled_reason, \(AccountRow.columns)
        FROM accounts a
        LEFT JOIN identities i ON i.account_id = a.account_id
        WHERE a.account_id = ANY (\(ids))
        ORDER BY i.created_at, i.identity_id
        """
    }

    /// The ids and addresses of a page's accounts, as `SQL.scanning` has them.
    package static func statement(_ filter: AccountFilter, after cursor: AccountCursor?, limit: Int) -> SQL {
        let order: SQL = filter.isOrderedByEmail ? "a.email" : "a.account_id"
        let candidates: SQL = """
            SELECT a.account_id, a.email, a.status, a.display_name, a.external_id
            FROM accounts a
            WHERE \(filter.indexedCondition) AND \(filter.isAfter(cursor))
            ORDER BY \(order)
            """
        return .scanning(
            candidates, for: "a.account_id, a.email", where: filter.allConditions, order: order, scanLimit: scanLimit,
            limit: limit)
    }
}

extension AccountFilter {
    /// The searches of an index that make up the list, one behind the other.
    fileprivate var scans: [AccountFilter] {
        guard isOrderedByEmail, let emailPrefix else { return [self] }
        return emailPrefix.parts.map { part in
            var filter = self
            filter.emailPrefix = part
            return filter
        }
    }

    /// Whether the list is ordered by address.
    fileprivate var isOrderedByEmail: Bool {
        email == nil && identityEmail == nil && subject == nil && externalID == nil && name == nil && emailPrefix != nil
    }

    /// The condition on accounts, named `a`, that an index answers by itself.
    fileprivate var indexedCondition: SQL {
        if let email { return "a.email = \(email.text)" }
        if let identityEmail {
            return "a.account_id IN (SELECT i.account_id FROM identities i WHERE i.email = \(identityEmail.text))"
        }
        if let subject {
            let ofProvider: SQL = if let provider { "i.provider = \(provider.rawValue)" } else { "true" }
            return """
                a.account_id IN (
                    SELECT i.account_id FROM identities i WHERE i.subject = \(subject.text) AND \(ofProvider))
                """
        }
        if let externalID { return "a.external_id = \(externalID.text)" }
        if let name { return "lower(a.display_name) = lower(\(name.text))" }
        // The column's collation is by bytes, so that a prefix is a range. No address holds U+10FFFF.
        if let first = emailPrefix?.texts.first, let last = emailPrefix?.texts.last {
            return "a.email >= \(first) AND a.email < \(last + "\u{10FFFF}")"
        }
        return status == .disabled ? "a.status = 'disabled'" : "true"
    }

    /// All conditions; repeating the indexed one costs nothing.
    fileprivate var allConditions: SQL {
        let ofName: SQL = if let name { "lower(a.display_name) = lower(\(name.text))" } else { "true" }
        let ofExternalID: SQL = if let externalID { "a.external_id = \(externalID.text)" } else { "true" }
        let ofStatus: SQL = if let status { "a.status = \(status.rawValue)" } else { "true" }
        let ofPrefix: SQL = if let emailPrefix { "a.email ^@ ANY (\(emailPrefix.texts))" } else { "true" }
        let ofSubject: SQL = if let subject { "i.subject = \(subject.text)" } else { "true" }
        let ofIdentity: SQL =
            switch (provider, subject) {
            case (nil, nil): "true"
            case (nil, _): "EXISTS (SELECT FROM identities i WHERE i.account_id = a.account_id AND \(ofSubject))"
            case (let provider?, _):
                """
                EXISTS (
                    SELECT FROM identities i
                    WHERE i.account_id = a.account_id AND i.provider = \(provider.rawValue) AND \(ofSubject))
                """
            }
        return "\(ofExternalID) AND \(ofName) AND \(ofStatus) AND \(ofPrefix) AND \(ofIdentity)"
    }

    fileprivate func isAfter(_ cursor: AccountCursor?) -> SQL {
        switch (cursor, cursor?.email) {
        case (nil, _): "true"
        case (_, let email?) where isOrderedByEmail: "a.email > \(email.text)"
        case (let cursor?, _): "a.account_id > \(cursor.id)"
        }
    }
}
