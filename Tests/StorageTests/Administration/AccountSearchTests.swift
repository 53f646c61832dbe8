import Accounts
import Postgres
import Storage
import TestSupport
import Testing

extension AccountCrowd: TestFixture {
    static func run(_ body: (AccountCrowd) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { try await body(try await create(400, in: $0)) }
    }
}

/// The accounts that a search finds, and that its pages make up the whole list.
@Suite(.fixture(AccountCrowd.self)) struct AccountSearchTests {
    var crowd: AccountCrowd { .current }

    /// The numbers of the accounts that are found in a crowd of 400, in the order of the list.
    private func numbers(limit: Int = 200, _ change: (inout AccountFilter) -> Void) async throws -> [Int] {
        var filter = AccountFilter()
        change(&filter)
        let search = AccountSearch(database: crowd.database)
        let known = Dictionary(uniqueKeysWithValues: (0..<crowd.count).map { (crowd.id($0) as AccountID, $0) })
        var numbers: [Int] = []
        var cursor: AccountCursor?
        repeat {
            let page = try await search.list(filter, after: cursor, limit: limit)
            #expect(page.items.count <= limit)
            numbers += page.items.compactMap { known[$0.account.id] }
            cursor = page.next
        } while cursor != nil
        return numbers
    }

    @Test func `each filter finds whom it means and nobody else`() async throws {
        typealias Change = (inout AccountFilter) -> Void
        let disabled = [0, 100, 200, 300]
        let cases: [(String, Change, [Int])] = [
            ("all", { _ in }, Array(0..<400)),
            ("disabled", { $0.status = .disabled }, disabled),
            ("active", { $0.status = .active }, (0..<400).filter { $0 % 100 != 0 }),
            ("google", { $0.provider = .google }, (0..<400).filter { $0 % 2 == 1 }),
            ("disabled apple", { ($0.status, $0.provider) = (.disabled, .apple) }, disabled),
            ("disabled google", { ($0.status, $0.provider) = (.disabled, .google) }, []),
            ("email", { $0.email = EmailAddress("User7@Example.com") }, [7]),
            ("another's email", { $0.email = EmailAddress("user9@example.com") }, []),
            (
                "email of another name",
                { ($0.email, $0.name) = (EmailAddress("user7@example.com"), DisplayName("kim 8")) }, []
            ),
            ("whole name in any case", { $0.name = DisplayName("kIM 17") }, [17]),
            ("part of a name", { $0.name = DisplayName("Kim 1") }, [1]),
            ("subject", { $0.subject = ProviderSubject("subject-31") }, [31]),
            ("part of a subject", { $0.subject = ProviderSubject("subject-") }, []),
            ("subject at its provider", { ($0.subject, $0.provider) = (ProviderSubject("subject-31"), .google) }, [31]),
            ("subject at the other", { ($0.subject, $0.provider) = (ProviderSubject("subject-31"), .apple) }, []),
            ("subject, other status", { ($0.subject, $0.status) = (ProviderSubject("subject-31"), .disabled) }, []),
            ("prefix", { $0.emailPrefix = EmailPrefix("user1@") }, [1]),
            // By address: 1, 10, 100 to 108, 11, 110 …
            (
                "prefix of many", { $0.emailPrefix = EmailPrefix("user39") },
                [39, 390, 391, 392, 393, 394, 395, 396, 397, 398, 399].filter { $0 % 10 != 9 }
            ),
            (
                "prefix and provider", { ($0.emailPrefix, $0.provider) = (EmailPrefix("user39"), .google) },
                [391, 393, 395, 397]
            ),
            ("prefix and status", { ($0.emailPrefix, $0.status) = (EmailPrefix("user"), .disabled) }, disabled),
            ("wildcards", { $0.emailPrefix = EmailPrefix("user%") }, []),
            ("one wildcard", { $0.emailPrefix = EmailPrefix("user_9") }, []),
            ("a quote", { $0.emailPrefix = EmailPrefix("'") }, []),
            ("a wildcard for a name", { $0.name = DisplayName("Kim %") }, []),
        ]
        for (name, change, expected) in cases {
            for limit in [3, 200] {
                let found = try await numbers(limit: limit, change)
                #expect(found == expected, "\(name), \(limit) a page")
            }
        }
    }

    @Test func `an identity that meets both is asked for, not one for each`() async throws {
        let account: AccountID = crowd.id(31)
        try await crowd.database.execute(
            """
            INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
            VALUES (\(IdentityID(now: crowd.time(1))), \(account), 'apple', 'main', 'another', \(crowd.time(1)))
            """)
        let found = try await numbers { ($0.subject, $0.provider) = (ProviderSubject("subject-31"), .apple) }
        #expect(found == [])
    }

    @Test func `an address that isn't taken any more is read from its row, and a list goes on after it`() async throws {
        let account: AccountID = crowd.id(33)
        let address = "user33\u{FE0F}@example.com"
        #expect(EmailAddress(address) == nil)
        try await crowd.database.execute("UPDATE accounts SET email = \(address) WHERE account_id = \(account)")
        let record = try #require(try await AccountSearch(database: crowd.database).account(account))
        #expect(record.account.email?.text == address)
        let whole = try await numbers { $0.emailPrefix = EmailPrefix("user3") }
        #expect(whole.contains(33))
        #expect(try await numbers(limit: 1) { $0.emailPrefix = EmailPrefix("user3") } == whole)
    }

    @Test func `the beginning of an address may be of one that keeps its capitals, whose domain has none`()
        async throws
    {
        let addresses = [
            (31, "JÜRGEN@example.de"), (32, "JÄN@example.de"), (33, "jim@example.com"), (34, "jürgen@example.de"),
        ]
        for (number, address) in addresses {
            let account: AccountID = crowd.id(number)
            try await crowd.database.execute("UPDATE accounts SET email = \(address) WHERE account_id = \(account)")
        }
        let cases = [
            ("J", [32, 31, 33, 34]), ("j", [33, 34]), ("JÜ", [31]), ("JÜRGEN@EXAMPLE", [31]), ("JIM@Exam", [33]),
            ("JI", [33]), ("jü", [34]), ("J@", []),
        ]
        for (prefix, expected) in cases {
            for limit in [1, 2, 3, 200] {
                let found = try await numbers(limit: limit) { $0.emailPrefix = EmailPrefix(prefix) }
                #expect(found == expected, "\(prefix), \(limit) a page")
            }
        }
        // Beside another condition that has an index, both are meant as well.
        let beside = try await numbers {
            ($0.subject, $0.emailPrefix) = (ProviderSubject("subject-31"), EmailPrefix("J"))
        }
        #expect(beside == [31])
    }

    @Test func `accounts have the addresses that are theirs, and their names stand for none`() async throws {
        let ids = [7, 9, 400].map { crowd.id($0) as AccountID }
        try await crowd.database.execute(
            "UPDATE accounts SET display_name = 'user8@example.com' WHERE account_id = \(ids[1])")
        let search = AccountSearch(database: crowd.database)
        let addresses = try await search.addresses(of: ids)
        #expect(addresses.mapValues(\.text) == [ids[0]: "user7@example.com"])
        let none = try await search.addresses(of: [])
        #expect(none.isEmpty)
    }

    @Test func `a subject is found in every realm`() async throws {
        let account: AccountID = crowd.id(32)
        try await crowd.database.execute(
            """
            INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
            VALUES (\(IdentityID(now: crowd.time(1))), \(account), 'google', 'beta', 'subject-31', \(crowd.time(1)))
            """)
        #expect(try await numbers { $0.subject = ProviderSubject("subject-31") } == [31, 32])
    }

    @Test func `the trail, the outbox and the events come whole, newest first, by pages`() async throws {
        let trail = AuditTrail(database: crowd.database)
        for kind in [AuditEvent.Kind?.none, .signedIn, .accountDisabled, .refreshReused] {
            for since in [nil, crowd.time(200)] {
                var filter = AuditFilter()
                (filter.kind, filter.since) = (kind, since)
                let pages = try await Self.all { try await trail.list(filter, before: $0, limit: 7) }
                let first = since == nil ? 0 : 200
                let signedIn = kind == nil || kind == .signedIn ? 400 - first : 0
                let disabled = kind == nil || kind == .accountDisabled ? (400 - first) / 100 : 0
                #expect(pages.count == signedIn + disabled, "\(String(describing: kind))")
                #expect(Set(pages.map(\.id)).count == pages.count)
                let times = pages.map(\.createdAt)
                #expect(times == times.sorted(by: >))
            }
        }
        var filter = AuditFilter()
        filter.accountID = crowd.id(100)
        let ofOne = try await Self.all { try await trail.list(filter, before: $0, limit: 1) }
        #expect(ofOne.map(\.type).sorted() == ["account_disabled", "signed_in"])

        let outbox = OutboxSearch(database: crowd.database)
        let messages = try await Self.all { try await outbox.list(status: nil, before: $0, limit: 7) }
        #expect(messages.map(\.id) == (0..<40).reversed().map { crowd.id($0 * 10) })
        let failed = try await Self.all { try await outbox.list(status: .failed, before: $0, limit: 1) }
        #expect(failed.map(\.id) == [crowd.id(10), crowd.id(0)])

        let events = ProviderEventRecords(database: crowd.database)
        let storedEvents = try await Self.all { try await events.page(before: $0, limit: 7) }
        #expect(storedEvents.map(\.id) == (0..<40).reversed().map { crowd.id($0 * 10) })
    }

    private static func all<Item, Cursor>(_ page: (Cursor?) async throws -> Page<Item, Cursor>) async throws -> [Item] {
        var items: [Item] = []
        var cursor: Cursor?
        repeat {
            let next = try await page(cursor)
            items += next.items
            cursor = next.next
        } while cursor != nil
        return items
    }
}
