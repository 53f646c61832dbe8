import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// An address that somebody else takes each time that it is looked up: a trigger stands in for them.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct ContestedAddressTests {
    var fixture: SignInFixture { .current }

    /// Has each statement that takes an address end as if somebody had taken it a moment before.
    private static func contest(_ fixture: SignInFixture) async throws {
        try await fixture.database.run(script: try DataFile("ContestedAddress.sql").text)
    }

    private static func settle(_ fixture: SignInFixture) async throws {
        try await fixture.database.execute("DROP TRIGGER contest ON accounts")
    }

    /// With an identity, and with a mailbox.
    @Test(arguments: [false, true])
    func `a create is refused, and its ticket stays good`(isByMailbox: Bool) async throws {
        if isByMailbox { _ = try await fixture.formerReader() }
        let ticket = try await isByMailbox ? fixture.ownersAnswer().ticket : fixture.ownersTicket()
        try await Self.contest(fixture)
        try await expectFailure("emailTaken") { try await fixture.create(ticket) }
        try await Self.settle(fixture)
        #expect(try await fixture.create(ticket).account.email?.text == StatedAddress.text)
    }

    @Test func `a change of address is refused, and its code stays good`() async throws {
        let member = try await fixture.member("kim@example.com")
        try await fixture.requestEmail("kim@new.example", of: member)
        let code = try await fixture.digits(.verifyEmail, of: "kim@new.example")
        try await Self.contest(fixture)
        try await expectFailure("emailTaken") { try await fixture.verifyEmail(code, of: member) }
        try await Self.settle(fixture)
        try await fixture.verifyEmail(code, of: member)
        #expect(try await fixture.account(member).email?.text == "kim@new.example")
    }
}
