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
        #expect(mail.header("Subject") == "Sign in to \(MailFixture.service) with a code")
        let digits = try #require(fixture.codes.digits(of: code))
        for part in [mail.text, mail.html] { #expect(part?.contains(digits) == false) }
        // Whether in an app or on the pages.
        let words = mail.text?.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words?.contains("Where you sign in, choose to get a code by email instead") == true)
        #expect(try await fixture.rows().isEmpty)
        // No code was mailed, so none is recorded as mailed.
        #expect(try await fixture.database.execute("SELECT FROM audit_events WHERE type = 'code_mailed'") == 0)
    }

    @Test func `any other code is mailed, and the degree counts when the mail is sent`() async throws {
        let cases: [(EmailCodePurpose, EmailProof, EmailProof)] = [
            (.resetPassword, .claimed, .claimed), (.resetPassword, .proven, .proven),
            (.resetPassword, .proven, .stated), (.signIn, .stated, .stated), (.bind, .stated, .stated),
            (.verifyEmail, .stated, .stated),
        ]
        for (index, (purpose, before, proof)) in cases.enumerated() {
            let address = "boss\(index)@newco.example"
            try await fixture.addAccount(address, proof: before)
            let code = try await fixture.issue(purpose, to: address)
            _ = try await fixture.database.execute(
                "UPDATE accounts SET email_proof = \(proof.rawValue) WHERE email = \(address)")
            try await fixture.work()
            let digits = try #require(fixture.codes.digits(of: code))
            let mail = try #require(try await fixture.arrived().first { $0.recipients == [address] })
            let isMailed = purpose != .resetPassword || proof != .stated
            #expect(mail.text?.contains(digits) == isMailed, "\(purpose) \(proof)")
        }
    }
}
