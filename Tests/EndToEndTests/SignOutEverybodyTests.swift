import Foundation
import Postgres
import TestSupport
import Testing

/// What docs/operations/runbook.md has the owner of the tables run to sign everybody out.
@Suite(.limitedConcurrency, .mailedWorld(), .timeLimit(.minutes(30))) struct SignOutEverybodyTests: WorldSuite {
    private static let page = Neighbours.root.appending(path: "docs/operations/runbook.md")

    /// The block of SQL in the page's section.
    private static func documented() throws -> String {
        let lines = try String(contentsOf: page, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let section = lines.drop { $0 != "## Sign everybody out" }
        let block = section.drop { $0 != "```sql" }.dropFirst().prefix { $0 != "```" }
        try #require(!block.isEmpty)
        return block.joined(separator: "\n")
    }

    @Test func `the runbook's statements end sessions and mailed codes, and people come back`() async throws {
        let email = "kim@example.com"
        let session = try await world.register(email).expecting(201)
        let bearer = try session.bearer()
        try await world.verify(email, bearer: bearer)
        let code = try await world.mailedCode("signIn", to: email)

        let statements = try Self.documented()
        try await scratch.withPool(.test(poolSize: 1)) { database in
            try await database.withConnection { try await $0.executeScript(unsafeSQL: statements) }
        }
        try await world.signIn(email, code: code).expectRefusal(401, "invalid_credentials")
        try await service.refresh(try session.refreshToken()).expectRefusal(401, "invalid_refresh_token")
        try await service.get("/v1/account", bearer: bearer).expectRefusal(401, "invalid_session")
        let left = try await world.count(
            "SELECT (SELECT count(*) FROM mailed_codes) + (SELECT count(*) FROM email_codes)")
        #expect(left == 0)
        try await world.signIn(byCodeTo: email).expecting(200)
    }
}
