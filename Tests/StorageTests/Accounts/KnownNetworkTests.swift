import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// From which networks an account is used, by what is recorded of it.
@Suite(.fixture(EmailCodeWorld.self)) struct KnownNetworkTests {
    var world: EmailCodeWorld { .current }

    private static let home: Network = "203.0.113.0/24"
    private static let day: Int64 = 86_400

    private func isKnown(_ world: EmailCodeWorld, _ id: AccountID, _ network: Network = home) async throws -> Bool {
        try await world.store.knownNetworks.isKnown(network, to: id, by: .at(EmailCodeWorld.start))
    }

    @Test func `a sign-in makes its network known for ninety days`() async throws {
        for (ago, known) in [(0, true), (90 * Self.day - 1, true), (90 * Self.day, false)] as [(Int64, Bool)] {
            let id = try await world.addAccount("kim\(ago)@example.com", from: Self.home, ago: ago)
            #expect(try await isKnown(world, id) == known)
            #expect(try await !isKnown(world, id, "203.0.112.0/24"))
        }
    }

    @Test func `another event makes no network known, nor another account's sign-in`() async throws {
        let id = try await world.addAccount()
        for type in ["guess_rejected", "credential_rejected", "code_mailed", "signed_out"] {
            try await world.record(type, of: id, from: Self.home, ago: 1)
        }
        try await world.addAccount("other@example.com", from: Self.home)
        try await world.record("signed_in", of: id, from: nil, ago: 1)
        #expect(try await !isKnown(world, id))
    }

    @Test func `what was before a clean-up, a take-over or a reset counts no more, and the reset itself counts`()
        async throws
    {
        let cases: [(type: String, reason: String?, known: Bool)] = [
            ("email_proven", nil, false), ("email_proven", "taken_over", false), ("password_reset", nil, false),
            ("email_replaced", nil, false),
            ("email_proven", "authoritative_provider", true), ("email_verified", nil, true),
            ("password_changed", nil, true),
        ]
        for (number, event) in cases.enumerated() {
            let id = try await world.addAccount("kim\(number)@example.com", from: Self.home, ago: 10)
            try await world.record(event.type, of: id, from: "198.51.100.0/24", reason: event.reason, ago: 5)
            #expect(try await isKnown(world, id) == event.known, "\(event)")
            #expect(try await isKnown(world, id, "198.51.100.0/24") == (event.type == "password_reset"), "\(event)")
            try await world.record("signed_in", of: id, from: Self.home, ago: 5)
            #expect(try await isKnown(world, id), "\(event)")
        }
    }

    @Test func `a live session makes the network known where it was last refreshed`() async throws {
        let id = try await world.addAccount(from: "198.51.100.0/24", ago: 200 * Self.day)
        let (opened, expires) = (EmailCodeWorld.time(-200 * Self.day), EmailCodeWorld.time(60))
        try await world.database.execute(
            """
            INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at,
                expires_at, rotation_network)
            VALUES (\(SessionID(now: opened)), \(id), \(opened), \(opened), '{pwd}', \(opened), \(opened), \(expires),
                \(Self.home))
            """)
        #expect(try await isKnown(world, id))
        #expect(try await !isKnown(world, id, "198.51.100.0/24"))
        try await world.database.execute("UPDATE sessions SET expires_at = \(EmailCodeWorld.start)")
        #expect(try await !isKnown(world, id))
        try await world.database.execute(
            """
            UPDATE sessions
            SET expires_at = \(expires), ended_at = \(opened), end_reason = 'signed_out'
            """)
        #expect(try await !isKnown(world, id))
    }

    @Test func `a mail for a known network alone is for nobody elsewhere`() async throws {
        let mails = MailStore(database: world.database)
        for (network, isHeld) in [(Self.home, true), ("198.51.100.0/24", false)] {
            try await world.database.execute("DELETE FROM mailed_codes")
            try await world.database.execute("DELETE FROM accounts")
            try await world.addAccount(from: Self.home)
            #expect(try await world.ask(network: network, allowance: .onlyIfKnown) == .issue(onlyIfKnown: true))
            let now = EmailCodeWorld.start
            let claimed = try await mails.claim(by: .at(now), lease: 30)
            let mail = try #require(claimed.work.first)
            #expect((mail.holderProof != nil) == isHeld)
            try await mails.delete(mail)
        }
    }
}
