package import Accounts
import Storage

// Whom a text means that support is given.

extension Administration {
    /// The accounts that a text of support's may mean: the id of an account, an identity or a session, else an address,
    /// else one that a provider states, as a relay address, else `apple:` or `google:` and a subject, else the id in the
    /// system before, else a whole name, else the beginning of an address. The first of these that has a match
    /// counts; an empty text means all accounts.
    package func people(
        matching text: String, after cursor: AccountCursor?, limit: Int
    ) async throws(AdministrationFailure) -> Page<AccountRecord, AccountCursor> {
        guard !text.isEmpty else { return try await accounts(AccountFilter(), after: cursor, limit: limit) }
        if cursor == nil, let id = try await accountID(named: text) {
            guard let record = try await stored({ try await accountSearch.account(id) }) else {
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

    /// The account that a session is of, and the session if it is live.
    package func session(
        _ id: SessionID
    ) async throws(AdministrationFailure) -> (account: Account, session: SessionSummary?) {
        let account = try await account(try await found { try await accountSearch.account(of: id) }).account
        return (account, try await stored { try await sessionStore.summary(of: id, by: clock.call(by: .service)) })
    }

    /// The account with an id, or with an address.
    package func accountID(_ text: String) async throws(AdministrationFailure) -> AccountID {
        if let id = AccountID(text) { return id }
        guard let email = EmailAddress.existing(text) else { throw .notFound }
        var filter = AccountFilter()
        filter.email = email
        guard let record = try await accounts(filter, after: nil, limit: 1).items.first else { throw .notFound }
        return record.account.id
    }

    private func accountID(named text: String) async throws(AdministrationFailure) -> AccountID? {
        if let id = AccountID.typed(text), try await stored({ try await accountSearch.account(id) }) != nil {
            return id
        }
        if let id = IdentityID.typed(text), let found = try await stored({ try await accountSearch.account(of: id) }) {
            return found.account.id
        }
        guard let id = SessionID.typed(text) else { return nil }
        return try await stored { try await accountSearch.account(of: id) }
    }

    /// The addresses of those accounts that have one. Deleted ones are not there.
    package func addresses(of ids: [AccountID]) async throws(AdministrationFailure) -> [AccountID: EmailAddress] {
        try await stored { try await accountSearch.addresses(of: ids) }
    }

    package func details(of account: Account) async throws(AdministrationFailure) -> AccountDetails {
        try await stored { try await accountSearch.details(of: account) }
    }
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
        if let email = EmailAddress.existing(text) {
            add { $0.email = email }
            add { $0.identityEmail = email }
        }
        for provider in Provider.allCases where text.hasPrefix("\(provider.rawValue):") {
            let rest = text.dropFirst(provider.rawValue.count + 1).drop(while: \.isWhitespace)
            guard let subject = ProviderSubject(String(rest)) else { continue }
            add {
                $0.provider = provider
                $0.subject = subject
            }
        }
        if let externalID = ExternalID(text) { add { $0.externalID = externalID } }
        if let name = DisplayName(text) { add { $0.name = name } }
        if let prefix = EmailPrefix(text) { add { $0.emailPrefix = prefix } }
        return readings
    }
}
