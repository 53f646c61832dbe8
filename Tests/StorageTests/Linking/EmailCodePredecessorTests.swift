import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// Codes beside processes of the release before, which know `email_codes` alone.
@Suite(.fixture(EmailCodeWorld.self)) struct EmailCodePredecessorTests {
    var world: EmailCodeWorld { .current }

    /// What such a process does to make a code.
    private func issue(_ world: EmailCodeWorld, _ purpose: EmailCodePurpose = .signIn, at seconds: Int64 = 0)
        async throws
        -> EmailCodeID
    {
        let now = EmailCodeWorld.time(seconds)
        let id = EmailCodeID(now: now)
        try await world.database.execute(
            """
            INSERT INTO email_codes (email, purpose, code_id, key_id, ticket_hash, created_at, expires_at)
            VALUES (\(EmailCodeWorld.address), \(purpose.rawValue), \(id), 'k1', NULL, \(now),
                \(now.advanced(bySeconds: 600)))
            ON CONFLICT (email, purpose) DO UPDATE
            SET code_id = EXCLUDED.code_id, key_id = EXCLUDED.key_id, ticket_hash = EXCLUDED.ticket_hash, tries = 0,
                created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
            """)
        return id
    }

    @Test func `a code that such a process has mailed is good, with its five tries`() async throws {
        for wrong in 4...5 {
            let id = try await issue(world)
            for number in 0..<wrong { _ = try await world.attempt(network: "10.0.\(number).0/24") }
            let code = try await world.attempt(isRight: true)
            #expect((code?.id == id) == (wrong == 4))
            guard let code else { continue }
            #expect(code.length == .six)
            #expect(try await world.consume(code))
            #expect(try await !world.consume(code))
        }
    }

    @Test func `the newest code counts, whichever process made it`() async throws {
        try await world.ask()
        let theirs = try await issue(world, at: 1)
        #expect(try await world.attempt(isRight: true, at: 1)?.id == theirs)
        try await world.ask(at: 600)
        let ours = try #require(try await world.attempt(isRight: true, at: 600))
        #expect(ours.id != theirs)
        #expect(try await world.database.texts("SELECT code_id::text FROM email_codes") == [ours.id.description])
    }

    @Test func `such a process finds a code of six digits, and leaves the mail of one of ten to others`() async throws {
        try await world.ask()
        #expect(
            try await world.database.texts(
                """
                SELECT concat_ws('|', e.key_id, e.tries)
                FROM email_codes e
                JOIN mailed_codes c ON c.code_id = e.code_id
                """) == ["k1|0"])
        for number in 0..<4 {
            for _ in 0..<5 { try await world.attempt(network: "10.0.\(number).0/24") }
        }
        try await world.ask(at: 1)
        #expect(try await world.database.texts("SELECT key_id FROM email_codes") == ["/"])
    }

    @Test func `a code that such a process has used is used`() async throws {
        try await world.ask()
        let code = try #require(try await world.attempt(isRight: true))
        try await world.database.execute("DELETE FROM email_codes")
        #expect(try await !world.consume(code))
        #expect(try await world.attempt(isRight: true) == nil)
        // And so another one is made for who asks.
        #expect(try await world.ask(at: 1) == .issue(onlyIfKnown: false))
        let next = try #require(try await world.attempt(isRight: true, at: 1))
        #expect(next.id != code.id)
        #expect(try await world.consume(next, at: 1))
    }

    @Test func `a code for a ticket is good when its copy has given way to another ticket's`() async throws {
        for ticket in [1, 2] as [UInt8] { try await world.ask(.bind, ticket: ticket) }
        for ticket in [2, 1] as [UInt8] {
            let code = try #require(try await world.attempt(.bind, ticket: ticket, isRight: true))
            #expect(try await world.consume(code))
        }
    }
}
