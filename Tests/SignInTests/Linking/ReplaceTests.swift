import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The replacement of an identity by another one of its provider.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct ReplaceTests {
    var fixture: SignInFixture { .current }

    private func replace(_ ticket: LinkRequired, _ credential: BindCredential) async throws -> SignedIn {
        try await fixture.bind(ticket, credential, replacing: true)
    }

    /// A member with an address of their own and an old Google identity, and a ticket for the new one.
    private func conflict(
        _ fixture: SignInFixture, old: String = "old@gmail.com", new: String = "new@gmail.com"
    ) async throws -> (member: SignedIn, old: SignedIn, ticket: LinkRequired) {
        let member = try await fixture.member("kim@example.com")
        let old = try await fixture.bind(.google("old", SignInFixture.email(old)), member.session.credential)
        let ticket = try await fixture.ticket(.google("new", SignInFixture.email(new)))
        try await fixture.forgetMails()
        return (member, old, ticket)
    }

    @Test func `the old identity goes, its sessions end, and every address is notified once`() async throws {
        let (member, old, ticket) = try await conflict(fixture)
        let bound = try await replace(ticket, member.session.credential)
        #expect(bound.account.identities.map(\.key.subject.text) == ["new"])
        #expect(try await !fixture.isLive(old))
        for session in [member, bound] { #expect(try await fixture.isLive(session)) }
        let mails = ["kim@example.com", "new@gmail.com", "old@gmail.com"].map {
            QueuedMail(template: "identity_replaced", recipient: $0, provider: "google")
        }
        #expect(try await fixture.mails() == mails)
        let recorded = try await fixture.recorded(of: member)
        #expect(recorded.count { $0 == "identity_replaced" } == 1)
        #expect(recorded.count { $0 == "identity_linked" } == 2)
        #expect(try await fixture.count("outbox WHERE kind = 'revocation'") == 1)
        // The old subject is free now.
        #expect(try await fixture.ticket(.google("old")).choices == [.create, .bind])
    }

    @Test func `the mailbox of each other identity is notified too`() async throws {
        let (member, _, ticket) = try await conflict(fixture)
        // A domain that was sold: the mail to its address alone would reach the one who replaces.
        _ = try await fixture.bind(.apple("a-1", SignInFixture.email("kim@icloud.com")), member.session.credential)
        try await fixture.forgetMails()
        _ = try await replace(ticket, try await fixture.mailedProof(of: "kim@example.com", for: ticket))
        let recipients = ["kim@example.com", "kim@icloud.com", "new@gmail.com", "old@gmail.com"]
        #expect(try await fixture.mails().map(\.recipient) == recipients)
    }

    @Test func `a person with one address for everything is notified once`() async throws {
        let (member, _, ticket) = try await conflict(fixture, old: "KIM@example.com", new: "kim@EXAMPLE.com")
        _ = try await replace(ticket, member.session.credential)
        #expect(try await fixture.mails().map(\.recipient) == ["kim@example.com"])
    }

    @Test func `an address that was never proven is not notified`() async throws {
        let registered = try await fixture.register("kim@example.com")
        _ = try await fixture.bind(.google("old", SignInFixture.email("old@gmail.com")), registered.session.credential)
        let ticket = try await fixture.ticket(.google("new", SignInFixture.email("other@example.com", verified: false)))
        try await fixture.forgetMails()
        _ = try await replace(ticket, registered.session.credential)
        #expect(try await fixture.mails().map(\.recipient) == ["old@gmail.com"])
    }

    @Test func `a session of the old identity proves the account, and ends with it`() async throws {
        let (_, old, ticket) = try await conflict(fixture)
        let bound = try await replace(ticket, old.session.credential)
        #expect(try await !fixture.isLive(old))
        #expect(try await fixture.isLive(bound))
    }

    @Test(arguments: [true, false])
    func `a password and a mailed code may replace too`(isByCode: Bool) async throws {
        let (_, old, ticket) = try await conflict(fixture)
        let email = "kim@example.com"
        let password = BindCredential.password(email: email, password: SignInFixture.password)
        let credential = try await isByCode ? fixture.mailedProof(of: email, for: ticket) : password
        _ = try await replace(ticket, credential)
        #expect(try await !fixture.isLive(old))
    }

    @Test func `replacing where nothing stands in the way is binding`() async throws {
        let member = try await fixture.member("kim@example.com")
        _ = try await replace(try await fixture.ticket(.google("1")), member.session.credential)
        #expect(try await fixture.mails().map(\.template) == ["identity_linked"])
    }

    /// The last statement of the transaction fails: each of the earlier ones has to be undone.
    @Test func `a replacement is whole or has not happened`() async throws {
        let (member, old, ticket) = try await conflict(fixture)
        try await fixture.database.execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no'; END $$
            """)
        try await fixture.database.execute(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON audit_events FOR EACH ROW
            WHEN (NEW.type = 'identity_linked') EXECUTE FUNCTION refuse()
            """)
        try await fixture.expectRefusal("fault") { try await replace(ticket, member.session.credential) }
        #expect(try await fixture.isLive(old))
        try await fixture.database.execute("DROP TRIGGER refuse ON audit_events")
        _ = try await replace(ticket, member.session.credential)
    }

    @Test(.fixture(SignInFixture.self))
    func `a sign-in by the old identity while it is replaced opens nothing that stays`() async throws {
        let member = try await fixture.register("kim@example.com")
        var old = "0"
        _ = try await fixture.bind(.google(old), member.session.credential)
        for round in 1...5 {
            let (gone, new) = (old, "\(round)")
            let ticket = try await fixture.ticket(.google(new))
            let token = try fixture.google(gone)
            _ = try await race(9) { number in
                if number == 4 {
                    _ = try await replace(ticket, member.session.credential)
                } else {
                    _ = try await fixture.signIn(.google, token)
                }
            }
            // The member's and the one that the replacement opened.
            #expect(try await fixture.count("sessions WHERE ended_at IS NULL AND identity_id IS NOT NULL") == 1)
            #expect(try await fixture.isLive(member))
            old = new
        }
    }

    @Test(.fixture(SignInFixture.self))
    func `of twenty identities that replace at once each has had its turn, and one is left`() async throws {
        let member = try await fixture.register("kim@example.com")
        var tickets: [LinkRequired] = []
        for number in 0..<20 { tickets.append(try await fixture.ticket(.google("\(number)"))) }
        let all = tickets
        let outcomes = try await race(20) { number in
            try await replace(all[number], member.session.credential)
        }
        #expect(outcomes == ["won": 20])
        #expect(try await fixture.count("identities") == 1)
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 2)
        #expect(try await fixture.count("audit_events WHERE type = 'identity_replaced'") == 19)
    }
}
