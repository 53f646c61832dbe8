import Accounts
import Postgres
import TestSupport
import Testing

/// What is mailed to the address by which somebody registers.
@Suite(.timeLimit(.minutes(5))) struct RegistrationMailTests {
    @Test func `who registers by an address that is held reads so, without a code`() async throws {
        try await MailFixture.run { fixture in
            try await fixture.addAccount("held@example.com")
            for address in ["held@example.com", "free@example.com"] { try await fixture.issue(.register, to: address) }
            try await fixture.work()
            let mails = Dictionary(
                uniqueKeysWithValues: try await fixture.arrived().map { ($0.recipients.first ?? "", $0.text ?? "") })
            #expect(mails["held@example.com"]?.contains(#/[0-9]{6}/#) == false)
            #expect(mails["held@example.com"]?.contains("There is one already") == true)
            #expect(mails["free@example.com"]?.contains(#/[0-9]{6}/#) == true)
            // No code was mailed to the first, and the trail says none was.
            #expect(try await fixture.rows().isEmpty)
            #expect(try await fixture.database.count("audit_events WHERE type = 'code_mailed'") == 1)
        }
    }
}
