import Accounts
import Foundation
import Postgres
import Storage
import TestSupport
import Testing

/// An administrator's lists stay fast among many accounts: none reads a table from end to end.
@Suite(.timeLimit(.minutes(30))) struct AccountCrowdTests {
    /// The pages of an index scan over ``AccountSearch/scanLimit`` accounts and as many identities.
    private static let mostPages = 8 * AccountSearch.scanLimit

    @Test func `no list and no filter scans a table, among a hundred thousand accounts`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let crowd = try await AccountCrowd.create(100_000, in: database)
            for query in crowd.queries {
                let plan = try await crowd.plan(of: query)
                #expect(AccountCrowd.scans(plan) == [], "\(query.name)\n\(plan)")
                #expect(Self.pages(plan) <= Self.mostPages, "\(query.name)\n\(plan)")
            }
            try await Self.expectShortPages(crowd)
        }
    }

    /// A page that has examined as many accounts as it may has a cursor, and one that has seen the end has none.
    private static func expectShortPages(_ crowd: AccountCrowd) async throws {
        let search = AccountSearch(database: crowd.database)
        var filter = AccountFilter()
        // No account: the disabled ones are all Apple's.
        (filter.emailPrefix, filter.provider, filter.status) = (EmailPrefix("user"), .google, .disabled)
        var cursor: AccountCursor?
        var pages = 0
        repeat {
            let page = try await search.list(filter, after: cursor, limit: 50)
            #expect(page.items.isEmpty)
            cursor = page.next
            pages += 1
        } while cursor != nil
        // Nine of ten have an address.
        #expect(pages == crowd.count / 10 * 9 / AccountSearch.scanLimit + 1)
    }

    /// The pages that the whole statement touched, by its first line of buffers.
    private static func pages(_ plan: String) -> Int {
        guard let line = plan.firstMatch(of: /Buffers: shared (.*)/) else { return 0 }
        return line.1.matches(of: /(?:hit|read)=(\d+)/).compactMap { Int($0.1) }.reduce(0, +)
    }
}
