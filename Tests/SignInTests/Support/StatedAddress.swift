import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// An address that changed hands: somebody who read the mailbox once, and has made an account with it at a provider that
/// doesn't run the mailbox, and its present owner, who comes later.
enum StatedAddress { static let text = "boss@newco.example" }

extension SignInFixture {
    /// The account that the former reader makes, with a password and a session.
    func formerReader() async throws -> SignedIn {
        let former = try await create(
            try await ticket(.apple, try apple("former", SignInFixture.email(StatedAddress.text))))
        #expect(former.account.email?.text == StatedAddress.text)
        #expect(former.account.emailProof == .stated)
        try await changePassword(of: former, from: nil, to: SignInFixture.password)
        try await forgetMails()
        return former
    }

    /// Makes the account one that an import has brought and that nothing else has touched.
    func bringIn(_ id: AccountID) async throws {
        try await database.execute(
            """
            INSERT INTO imported_rows (import_id, external_id_digest, account_id, created_at)
            VALUES (gen_random_uuid(), sha256('row'), \(id), now())
            """)
    }

    /// The ticket of the present owner, by the provider that runs the mailbox.
    func ownersTicket() async throws -> LinkRequired {
        try await ticket(.google, try google("owner", SignInFixture.hosted(StatedAddress.text)))
    }

    /// The answer to a code that was mailed to the address to sign in.
    func ownersAnswer() async throws -> SignInAnswer {
        try await answer(toCode: try await code(.signIn, for: StatedAddress.text), for: StatedAddress.text)
    }

    /// Has the mailbox proven in the account's own session.
    func verify(_ signedIn: SignedIn, _ email: String = StatedAddress.text) async throws {
        try await service.emailCodes.verifyEmail(
            code: try await code(.verifyEmail, for: email), of: try await opened(signedIn), by: call)
    }

    /// Expects the former reader to have what they had, but for the address.
    func expectOusted(_ former: SignedIn, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let account = try await account(former)
        #expect(account.email == nil, sourceLocation: sourceLocation)
        #expect(account.emailProof == nil, sourceLocation: sourceLocation)
        #expect(account.emailTakenAt == clock.now(), sourceLocation: sourceLocation)
        #expect(account.status == .active, sourceLocation: sourceLocation)
        #expect(try await isLive(former), sourceLocation: sourceLocation)
        // Neither by a claim that is out of date, nor in another way, do they get it back.
        let again = try await session(.apple, try apple("former", SignInFixture.email(StatedAddress.text)))
        #expect(again.account.id == former.account.id, sourceLocation: sourceLocation)
        #expect(again.account.email == nil, sourceLocation: sourceLocation)
        try await expectFailure("invalidCredentials", sourceLocation: sourceLocation) {
            try await signIn(StatedAddress.text)
        }
    }

    /// Expects the owner to have taken the former reader's account over, and to be alone in it.
    func expectTakenOver(
        _ former: SignedIn, by owner: SignedIn, with subjects: Set<String> = ["former", "owner"],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(owner.account.id == former.account.id, sourceLocation: sourceLocation)
        #expect(owner.account.emailProof == .proven, sourceLocation: sourceLocation)
        #expect(!owner.account.hasPassword, sourceLocation: sourceLocation)
        #expect(Set(owner.account.identities.map(\.key.subject.text)) == subjects, sourceLocation: sourceLocation)
        #expect(try await !isLive(former), sourceLocation: sourceLocation)
    }

    /// Expects everything to be as the former reader left it, for nobody but them.
    func expectUntouched(_ former: SignedIn, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let account = try await account(former)
        #expect(account.email?.text == StatedAddress.text, sourceLocation: sourceLocation)
        #expect(account.emailProof == .stated, sourceLocation: sourceLocation)
        #expect(account.emailTakenAt == nil, sourceLocation: sourceLocation)
        #expect(account.hasPassword, sourceLocation: sourceLocation)
        #expect(account.identities.map(\.key.subject.text) == ["former"], sourceLocation: sourceLocation)
        #expect(try await isLive(former), sourceLocation: sourceLocation)
        #expect(
            try await count("sessions WHERE account_id = \(former.account.id) AND ended_at IS NULL") == 1,
            sourceLocation: sourceLocation)
    }
}
