import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// A request for a new password of an account whose address is only stated: nobody gets a code, and the answer is the same.
@Suite(.fixture(MailFixture.self), .timeLimit(.minutes(5))) struct ResetBySignInTests {
    var fixture: MailFixture { .current }

    private static let address = StatedAddress.text

    @Test func `no code is mailed, and the mail says to sign in by one`() async throws {
        try await fixture.addAccount(Self.address, proof: .stated)
        let code = try await fixture.issue(.resetPassword, to: Self.address)
        try await fixture.work()
        let arrived = try await fixture.arrived()
        #expect(arrived.map(\.recipients) == [[Self.address]])
        let mail = try #require(arrived.first)
        #expect(mail.header("Subject") == "Sign in to \(MailFixture.service) by a code")
        let digits = try #require(fixture.codes.digits(of: code))
        for part in [mail.text, mail.html] { #expect(part?.contains(digits) == false) }
        // Whether in an app or on the pages.
        let words = mail.text?.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words?.contains("Where you sign in, choose to get a code by mail instead") == true)
        #expect(try await fixture.rows().isEmpty)
        // No code was mailed, so none is recorded as mailed.
        let mailed = try await fixture.database.execute("SELECT FROM audit_events WHERE type = 'code_mailed'")
        #expect(mailed == 0)
    }

    @Test(arguments: [EmailProof.claimed, .proven])
    func `an account with another degree gets the code`(proof: EmailProof) async throws {
        try await fixture.addAccount(Self.address, proof: proof)
        let code = try await fixture.issue(.resetPassword, to: Self.address)
        try await fixture.work()
        let digits = try #require(fixture.codes.digits(of: code))
        #expect(try await fixture.arrived().first?.text?.contains(digits) == true)
    }

    @Test func `the degree counts when the mail is sent`() async throws {
        try await fixture.addAccount(Self.address)
        let code = try await fixture.issue(.resetPassword, to: Self.address)
        _ = try await fixture.database.execute("UPDATE accounts SET email_proof = 'stated'")
        try await fixture.work()
        let digits = try #require(fixture.codes.digits(of: code))
        #expect(try await fixture.arrived().first?.text?.contains(digits) == false)
    }

    @Test(arguments: [EmailCodePurpose.signIn, .bind, .verifyEmail])
    func `a code for anything else is mailed`(purpose: EmailCodePurpose) async throws {
        try await fixture.addAccount(Self.address, proof: .stated)
        let code = try await fixture.issue(purpose, to: Self.address)
        try await fixture.work()
        let digits = try #require(fixture.codes.digits(of: code))
        #expect(try await fixture.arrived().first?.text?.contains(digits) == true)
    }
}
