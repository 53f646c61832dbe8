import Accounts
import Foundation
import Postgres
import Storage
import TestSupport
import Testing

/// What an administrator asks for stays quick among many: no list reads a table from end to end.
@Suite(.timeLimit(.minutes(30))) struct AccountCrowdTests {
    /// A look along an index at ``AccountSearch/reach`` accounts and as many identities.
    private static let mostPages = 8 * AccountSearch.reach

    @Test func `no list and no filter scans a table, among a hundred thousand accounts`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let crowd = try await AccountCrowd.gather(100_000, in: database)
            for question in crowd.questions {
                let plan = try await crowd.plan(of: question)
                #expect(AccountCrowd.scans(plan) == [], "\(question.name)\n\(plan)")
                #expect(Self.pages(plan) <= Self.mostPages, "\(question.name)\n\(plan)")
            }
            try await Self.expectShortPages(crowd)
        }
    }

    /// A page that has looked as far as it may says where it was, and one that has seen the end says nothing.
    private static func expectShortPages(_ crowd: AccountCrowd) async throws {
        let search = AccountSearch(database: crowd.database)
        var filter = AccountFilter()
        // Nobody: the disabled ones are all Apple's.
        (filter.emailPrefix, filter.provider, filter.status) = ("user", .google, .disabled)
        var cursor: AccountCursor?
        var pages = 0
        repeat {
            let page = try await search.list(filter, after: cursor, limit: 50)
            #expect(page.items.isEmpty)
            cursor = page.next
            pages += 1
        } while cursor != nil
        // Nine of ten have an address.
        #expect(pages == crowd.count / 10 * 9 / AccountSearch.reach + 1)
    }

    /// What the whole statement touched, by its first line of buffers.
    private static func pages(_ plan: String) -> Int {
        guard let line = plan.firstMatch(of: /Buffers: shared (.*)/) else { return 0 }
        return line.1.matches(of: /(?:hit|read)=(\d+)/).compactMap { Int($0.1) }.reduce(0, +)
    }
}
