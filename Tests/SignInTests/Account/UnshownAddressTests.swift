import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// People whose address has a character that isn't shown: it was taken before such addresses were refused.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct UnshownAddressTests {
    var fixture: SignInFixture { .current }

    private static let address = "kim\u{FE0F}@example.com"

    /// A person who has no provider, but a password and the address.
    private func kim() async throws -> SignedIn {
        let kim = try await fixture.member("kim@example.com")
        try await fixture.database.execute(
            "UPDATE accounts SET email = \(Self.address) WHERE account_id = \(kim.account.id)")
        try await fixture.forgetMails()
        return kim
    }

    @Test func `who has one signs in by password and by a mailed code`() async throws {
        let kim = try await kim()
        #expect(try await fixture.signIn(Self.address).account.id == kim.account.id)
        let code = try await fixture.code(.signIn, for: Self.address)
        #expect(try await fixture.mails(.signInCode).map(\.recipient) == [Self.address])
        #expect(try await fixture.signIn(Self.address, code: code).account.id == kim.account.id)
    }

    @Test func `who has one sets a forgotten password, which is not the address`() async throws {
        _ = try await kim()
        let code = try await fixture.code(.resetPassword, for: Self.address)
        try await expectFailure("weakPassword") { try await fixture.reset(Self.address, code: code, to: Self.address) }
        try await fixture.reset(Self.address, code: code)
        _ = try await fixture.signIn(Self.address, password: "another long password")
    }

    @Test func `who has one proves the account for a link, by password and by a mailed code`() async throws {
        let kim = try await kim()
        let byCode = try await fixture.ticket(.google("1"))
        let proof = try await fixture.mailedProof(of: Self.address, for: byCode)
        #expect(try await fixture.bind(byCode, proof).account.id == kim.account.id)
        let byPassword = try await fixture.ticket(.apple("2"))
        let bound = try await fixture.bind(byPassword, .password(email: Self.address, password: SignInFixture.password))
        #expect(bound.account.id == kim.account.id)
    }

    @Test func `a wrong password is in the story of the account, and no other address finds it`() async throws {
        let kim = try await kim()
        for address in [Self.address, "kim@example.com"] {
            try await expectFailure("invalidCredentials") { try await fixture.signIn(address, password: "a wrong one") }
        }
        try await expectFailure("invalidCredentials") { try await fixture.signIn("kim@example.com") }
        try await fixture.service.refusals.flush()
        #expect(
            try await fixture.texts(
                """
                SELECT occurrences::text FROM audit_events
                WHERE type = 'guess_rejected' AND account_id = \(kim.account.id)
                """) == ["1"])
    }

    @Test func `none comes into being, neither by registering nor in the place of another`() async throws {
        try await expectFailure("malformedEmail") { try await fixture.register(Self.address) }
        let ada = try await fixture.member("ada@example.com")
        try await expectFailure("malformedEmail") { try await fixture.requestEmail(Self.address, of: ada) }
        #expect(try await fixture.count("accounts") == 1)
    }
}
