import Accounts
import Curl
import SignIn
import Storage
import TestSupport
import Testing

/// Which of the mails that wait say that mail is stuck.
@Suite(.fixture(MailFixture.self), .timeLimit(.minutes(5))) struct MailBacklogTests {
    var fixture: MailFixture { .current }

    private func backlog() async throws -> OutboxBacklog {
        try await fixture.storage.mails.backlog(at: fixture.clock.now())
    }

    @Test func `mail is not stuck for one recipient, and is where the server answers none`() async throws {
        let start = fixture.clock.now()
        try await fixture.enqueue("password_changed", to: "rcpt-450@example.com")
        #expect(try await backlog().oldest == start)
        #expect(try await fixture.work() == 1)
        #expect(try await fixture.rows().map(\.error) == ["rcpt_450"])
        let postponed = try await backlog()
        #expect(postponed.pending == 1)
        #expect(postponed.oldest == nil)
        try await fixture.waitUntilDue()
        let away = BrokenTransport(error: MailTransportError(.connect))
        #expect(try await fixture.makeWorker(transport: away).sendNext())
        #expect(try await backlog().oldest == start)
    }

    @Test func `a notice that the server may have is none that is stuck, until it is due again`() async throws {
        let start = fixture.clock.now()
        try await fixture.enqueue("password_changed", to: "kim@example.com")
        let unanswered = BrokenTransport(error: MailTransportError(.timedOutAfterData))
        #expect(try await fixture.makeWorker(transport: unanswered).sendNext())
        let left = try await backlog()
        #expect(left.pending == 1)
        #expect(left.oldest == nil)
        try await fixture.waitUntilDue()
        #expect(try await backlog().oldest == start)
    }
}
