import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// The copies of codes that processes of the release before look for.
@Suite(.fixture(EmailCodeWorld.self)) struct EmailCodePredecessorTests {
    var world: EmailCodeWorld { .current }

    @Test func `such a process finds a code of six digits, and leaves the mail of one of ten to others`() async throws {
        try await world.ask()
        #expect(
            try await world.database.texts(
                """
                SELECT concat_ws('|', e.key_id, e.tries)
                FROM email_codes e
                JOIN mailed_codes c ON c.code_id = e.code_id
                """) == ["k1|0"])
        try await world.useUp()
        try await world.ask(at: 1)
        #expect(try await world.database.texts("SELECT key_id FROM email_codes") == ["/"])
    }

    @Test func `a code for a ticket is good when its copy has given way to another ticket's`() async throws {
        for ticket in [1, 2] as [UInt8] { try await world.ask(.bind, ticket: ticket) }
        for ticket in [2, 1] as [UInt8] {
            let code = try #require(try await world.attempt(.bind, ticket: ticket, isRight: true))
            #expect(try await world.consume(code))
        }
        #expect(try await world.database.texts("SELECT code_id::text FROM email_codes").isEmpty)
    }
}
