import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Rows with a value that this release doesn't know, as a later release or an operator may write them.
@Suite(.fixture(SignInFixture.self), .timeLimit(.minutes(15))) struct UnreadableRowTests {
    var fixture: SignInFixture { .current }

    private static func decodingError(
        _ read: () async throws -> Void, _ location: SourceLocation = #_sourceLocation
    ) async throws -> PostgresError {
        let error = try await #require(throws: PostgresError.self, sourceLocation: location) { try await read() }
        #expect(error.code == .decoding, sourceLocation: location)
        return error
    }

    /// One line for each dead letter: the table and column that it names.
    private static func deadLetters(in log: RecordingLog) -> [String] {
        log.lines.filter { $0.hasPrefix("error unreadable row given up ") }
            .compactMap { $0.firstMatch(of: #/table (\w+): column (\w+): /#) }
            .map { "\($0.1).\($0.2)" }
    }

    // MARK: Reading

    @Test func `an unknown status is an error that names table and column, and no disabled account`() async throws {
        let account = try await fixture.create(fixture.ticket(.apple, fixture.apple("kim"))).account
        try await fixture.database.execute("ALTER TABLE accounts DROP CONSTRAINT accounts_status_known")
        try await fixture.database.execute("UPDATE accounts SET status = 'frozen', email = 'kim@example.com'")
        let error = try await Self.decodingError { _ = try await fixture.storage.accounts.account(account.id) }
        #expect(error.table == "accounts")
        #expect(error.debugDescription.contains("column status: "))
        #expect(!error.debugDescription.contains("frozen"))
        let address = try #require(EmailAddress("kim@example.com"))
        #expect(
            try await Self.decodingError {
                _ = try await fixture.storage.accounts.holder(of: address)
            }.table == "accounts")
        #expect(try await failure { try await fixture.session(.apple, fixture.apple("kim")) } == "fault")
    }

    @Test(arguments: [
        ("provider", "github"), ("subject", "\u{1}"), ("authorization_status", "paused"), ("email", "kim"),
    ])
    func `an identity that can't be read is an error, and no identity less`(
        column: String, value: String
    ) async throws {
        let account = try await fixture.create(fixture.ticket(.apple, fixture.apple("kim"))).account
        try await fixture.database.execute("ALTER TABLE identities DROP CONSTRAINT identities_authorization_known")
        let set: SQL =
            switch column {
            case "provider": "provider = \(value)"
            case "subject": "subject = \(value)"
            case "email": "email = \(value)"
            default: "authorization_status = \(value)"
            }
        try await fixture.database.execute("UPDATE identities SET \(set)")
        let error = try await Self.decodingError { _ = try await fixture.storage.accounts.account(account.id) }
        #expect(error.table == "identities")
        #expect(error.debugDescription.contains("column \(column): "))
    }

    @Test func `of sign-ins that run as one statement, the one that can't be read fails alone`() async throws {
        let subjects = (0..<16).map { "person-\($0)" }
        for subject in subjects { _ = try await fixture.create(fixture.ticket(.apple, fixture.apple(subject))) }
        try await fixture.database.execute("ALTER TABLE accounts DROP CONSTRAINT accounts_status_known")
        try await fixture.database.execute(
            """
            UPDATE accounts SET status = 'frozen'
            WHERE account_id = (SELECT account_id FROM identities WHERE subject = 'person-7')
            """)
        let failed = try await concurrently(subjects) { subject -> String? in
            do {
                _ = try await fixture.session(.apple, fixture.apple(subject))
                return nil
            } catch is SignInFailure {
                return subject
            }
        }
        #expect(failed.compactMap { $0 } == ["person-7"])
    }

    // MARK: Workers

    @Test(.noFixture(SignInFixture.self))
    func `an expired ticket that can't be read keeps no other from being released and deleted`() async throws {
        try await LifeCycleFixture.run { fixture in
            for person in ["kim", "ada"] { _ = try await fixture.ticket(try await fixture.consent(.apple, person)) }
            try await fixture.database.execute(
                """
                UPDATE link_tickets SET provider = 'github'
                WHERE ticket_hash = (SELECT ticket_hash FROM link_tickets ORDER BY ticket_hash LIMIT 1)
                """)
            try await fixture.advance(by: 2 * 86_400)
            let error = try await Self.decodingError { _ = try await fixture.sweeper.sweep() }
            #expect(error.table == "link_tickets")
            #expect(try await fixture.count("link_tickets") == 1)
            #expect(try await fixture.count("link_tickets WHERE provider = 'github'") == 1)
            #expect(try await fixture.count("provider_grants WHERE ticket_hash IS NOT NULL") == 1)
        }
    }

    @Test(.noFixture(SignInFixture.self)) func `an event of an unknown provider is given up alone`() async throws {
        try await ProviderEventFixture.run { fixture in
            let kim = try await fixture.account(.apple)
            let event = try fixture.apple("consent-revoked", id: "e1")
            try await fixture.events.take(fixture.apple("consent-revoked", of: "ada", id: "e0"), from: .apple)
            try await fixture.events.take(event, from: .apple)
            try await fixture.database.execute("UPDATE provider_events SET provider = 'github' WHERE jti = 'e0'")
            #expect(try await fixture.events.processPending() == 2)
            #expect(try await fixture.statuses() == ["e0": "unknown_type", "e1": "done"])
            #expect(try await !fixture.isOpen(kim))
            #expect(Self.deadLetters(in: fixture.log) == ["provider_events.provider"])
            #expect(try await fixture.events.processPending() == 0)
        }
    }

    @Test(.noFixture(SignInFixture.self))
    func `a grant of an unknown provider is given up, and the others of the batch are checked`() async throws {
        try await LifeCycleFixture.run { fixture in
            for person in ["kim", "ada"] { _ = try await fixture.account(.apple, person) }
            try await fixture.database.execute(
                """
                UPDATE provider_grants SET provider = 'github'
                WHERE grant_id = (SELECT grant_id FROM provider_grants ORDER BY grant_id LIMIT 1)
                """)
            try await fixture.advance(by: 2 * 86_400)
            let log = RecordingLog()
            let checks = GrantCheckWorker(
                store: fixture.storage.grants, endpoints: fixture.endpoints, clock: fixture.clock, logger: log.logger)
            #expect(try await checks.checkDue() == 2)
            #expect(Self.deadLetters(in: log) == ["provider_grants.provider"])
            #expect(try await fixture.count("provider_grants WHERE provider = 'github' AND check_at IS NULL") == 1)
            #expect(try await fixture.count("provider_grants WHERE provider = 'apple' AND check_at IS NOT NULL") == 1)
            try await fixture.advance(by: 2 * 86_400)
            #expect(try await checks.checkDue() == 1)
        }
    }

    @Test(.noFixture(SignInFixture.self))
    func `a revocation of an unreadable subject is given up, and the others of the batch are done`() async throws {
        try await LifeCycleFixture.run { fixture in
            for person in ["kim", "ada"] { try await fixture.deleteAccount(try await fixture.account(.apple, person)) }
            try await fixture.database.execute(
                """
                UPDATE outbox SET subject = \("\u{1}")
                WHERE message_id = (SELECT message_id FROM outbox ORDER BY message_id LIMIT 1)
                """)
            let log = RecordingLog()
            let revocations = RevocationWorker(
                store: fixture.storage.revocations, endpoints: fixture.endpoints, clock: fixture.clock,
                logger: log.logger)
            #expect(try await revocations.attemptDue(at: .apple) == 2)
            #expect(Self.deadLetters(in: log) == ["outbox.subject"])
            #expect(
                try await fixture.texts("SELECT concat_ws(' ', status, last_error) FROM outbox ORDER BY message_id")
                    == ["failed unreadable", "done"])
            #expect(
                try await fixture.count(
                    """
                    audit_events
                    WHERE type = 'revocation_failed' AND reason = 'unreadable' AND account_id IS NOT NULL
                    """) == 1)
            #expect(try await revocations.attemptDue(at: .apple) == 0)
        }
    }

    @Test(.noFixture(SignInFixture.self), arguments: ["provider", "recipient"])
    func `a mail that can't be read is given up, and the next one is sent`(column: String) async throws {
        try await MailFixture.run { fixture in
            try await fixture.enqueue("password_changed", to: "kim@example.com")
            let set: SQL = column == "provider" ? "provider = 'github'" : "recipient = 'kim'"
            try await fixture.database.execute("UPDATE outbox SET \(set)")
            fixture.clock.advance(by: 1)
            try await fixture.enqueue("password_changed", to: "ada@example.com")
            #expect(try await fixture.work() == 2)
            #expect(try await fixture.arrived().flatMap(\.recipients) == ["ada@example.com"])
            #expect(try await fixture.rows().map(\.status) == ["failed"])
            #expect(
                try await fixture.database.execute(
                    "SELECT FROM outbox WHERE last_error = 'unreadable' AND recipient IS NULL") == 1)
            #expect(Self.deadLetters(in: fixture.log) == ["outbox.\(column)"])
        }
    }
}
