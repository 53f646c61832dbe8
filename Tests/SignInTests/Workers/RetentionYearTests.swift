import Accounts
import Foundation
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// What stays in the database of a service whose people are the same for a year.
@Suite(.timeLimit(.minutes(5))) struct RetentionYearTests {
    private static let week: Int64 = 7 * 86_400

    /// The tables of a section of docs/operations/capacity.md, the first column of its table.
    private static func tables(under heading: String) throws -> Set<String> {
        let page = try String(
            contentsOf: URL(filePath: #filePath).appending(path: "../../../../docs/operations/capacity.md")
                .standardizedFileURL, encoding: .utf8)
        let section = try #require(page.split(separator: #/\n##+ /#).first { $0.hasPrefix("\(heading)\n") })
        let cells = section.matches(of: /(?m)^\| (`[^|]*`) \|/).map(\.1)
        return Set(cells.flatMap { $0.matches(of: /`(\w+)`/).map { String($0.1) } })
    }

    private static func names(in database: Database) async throws -> Set<String> {
        let names = try await database.query(
            """
            SELECT relname::text
            FROM pg_class
            WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
            """, as: String.self)
        return Set(names)
    }

    @Test func `each table has a bound on the page of capacity`() async throws {
        let growing = try Self.tables(under: "What grows with people")
        let trail = try Self.tables(under: "What grows with time")
        let swept = try Self.tables(under: "What is swept")
        try await ScratchDatabase.withMigratedPool { database in
            let names = try await Self.names(in: database)
            #expect(names == growing.union(trail).union(swept))
        }
        #expect(growing.isDisjoint(with: swept) && trail.isDisjoint(with: growing.union(swept)))
    }

    @Test func `in the second half of a year no table but the trail is larger than in the first`() async throws {
        let trail = try Self.tables(under: "What grows with time")
        let limits = Dictionary(
            uniqueKeysWithValues: LimitKind.allCases.map { ($0, RateLimit.limit(count: 1_000, seconds: 3_600)) })
        try await SignInFixture.withMail(limits: limits) { people in
            let fixture = try ProviderEventFixture(people: people)
            for person in ["kim", "lee", "ada"] { _ = try await fixture.account(.apple, person) }
            try await people.register("kim@example.com")
            // Whole days of the feed are dropped, by the database's clock: tests of the feed see to that.
            let feed: Set = ["unstamped_events", "account_events"]
            let tables = try await Self.names(in: people.database).subtracting(trail.union(feed)).sorted()
            var sizes: [[Int64]] = []
            for week in 0..<56 {
                fixture.advance(by: Self.week)
                try await Self.live(week, fixture)
                while try await fixture.sweeper.sweep() > 0 {}
                sizes.append(try await Self.sizes(of: tables, people.database))
                // Once more, when all that has ended is past its retention.
                fixture.advance(by: 3_700)
                while try await fixture.sweeper.sweep() > 0 {}
            }
            for (index, table) in tables.enumerated() {
                let column = sizes.map { $0[index] }
                #expect(column[28...].max() ?? 0 <= column[..<28].max() ?? 0, "\(table): \(column)")
            }
            let written = Set(
                zip(tables.indices, tables).filter { index, _ in sizes.contains { $0[index] > 0 } }.map(\.1))
            #expect(
                written.isSuperset(of: [
                    "sessions", "link_tickets", "nonces", "mailed_codes", "guessed_addresses", "rate_limits", "outbox",
                    "provider_events",
                ]), "\(written)")
        }
    }

    private static func sizes(of tables: [String], _ database: Database) async throws -> [Int64] {
        var sizes: [Int64] = []
        for table in tables {
            sizes += try await database.query("SELECT count(*) FROM \(unsafeSQL: table)", as: Int64.self)
        }
        return sizes
    }

    /// A week of the same people, and of others who come and go.
    private static func live(_ week: Int, _ fixture: ProviderEventFixture) async throws {
        let people = fixture.people
        for person in ["kim", "lee", "ada"] {
            let signedIn = try await fixture.session(.apple, person)
            _ = try await people.refresh(signedIn.session.refreshToken)
        }
        // Of a person who chooses neither create nor bind.
        _ = try await fixture.people.ticket(.google("unknown-\(week)"))
        let nonce = try people.service.nonces.issue(for: .google).text
        _ = try await people.signIn(.google("unknown-\(week)", [("nonce", .string(nonce))]), nonce: nonce)
        // A second identity that comes, and goes with its authorization.
        let kim = try await fixture.session(.apple)
        let linked = try await fixture.bind(.google, to: kim)
        try await people.service.accounts.unlink(
            try #require(linked.identity).id, of: try await people.opened(kim), by: people.call)
        for address in ["kim@example.com", "nobody-\(week)@example.com"] {
            let right = try await people.code(.signIn, for: address)
            await expectFailure(SignInFailure.invalidCredentials) {
                _ = try await people.signIn(address, code: SignInFixture.wrong(right))
            }
            await expectFailure(SignInFailure.invalidCredentials) {
                _ = try await people.signIn(address, password: "wrong")
            }
        }
        try await fixture.deliver(
            .google, try fixture.google(ProviderEventFixture.risc + "sessions-revoked", of: "kim", id: "event-\(week)"))
    }
}
