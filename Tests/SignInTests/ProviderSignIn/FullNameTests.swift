import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// The name that Apple gives to the phone once, unsigned: it fills an empty display name, and replaces none.
@Suite(.fixture(LifeCycleFixture.self)) struct FullNameTests {
    var fixture: LifeCycleFixture { .current }

    private static func name(_ text: String) throws -> DisplayName { try #require(DisplayName(text)) }

    private func stored() async throws -> [String?] {
        try await fixture.texts("SELECT display_name FROM accounts ORDER BY account_id")
    }

    @Test(arguments: Provider.allCases)
    func `a known person's empty name is filled once`(provider: Provider) async throws {
        #expect(try await fixture.account(provider).account.displayName == nil)
        let consent = try await fixture.consent(provider)
        let first = try await fixture.session(consent, .token, fullName: try Self.name("Kim Lee"))
        #expect(first.account.displayName?.text == "Kim Lee")
        // Neither another name nor none changes it any more.
        for fullName in [try Self.name("Ada"), nil] {
            let later = try await fixture.session(consent, .token, fullName: fullName)
            #expect(later.account.displayName?.text == "Kim Lee")
            #expect(try await stored() == ["Kim Lee"])
        }
    }

    /// The session is open by then, and the proof is spent.
    @Test func `a name that can't be stored stops no sign-in`() async throws {
        let created = try await fixture.account(.apple)
        try await fixture.database.execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'lock_not_available'; END $$
            """)
        try await fixture.database.execute(
            """
            CREATE TRIGGER refusal BEFORE UPDATE OF display_name ON accounts
            FOR EACH ROW EXECUTE FUNCTION refuse()
            """)
        let session = try await fixture.session(
            try await fixture.consent(.apple), .token, fullName: try Self.name("Kim Lee"))
        #expect(session.account.id == created.account.id && session.account.displayName == nil)
        _ = try await fixture.opened(session)
    }

    @Test func `a sign-in without a name leaves the name empty`() async throws {
        _ = try await fixture.account(.apple)
        #expect(try await fixture.session(try await fixture.consent(.apple)).account.displayName == nil)
        #expect(try await stored() == [nil])
    }

    @Test func `a name is stored without what hides or reorders text, and cut`() async throws {
        _ = try await fixture.account(.apple)
        let hostile = DisplayName(
            givenName: "Kim\u{202E}\r\n\u{0}\u{200B}", familyName: String(repeating: "é", count: 200))
        let session = try await fixture.session(try await fixture.consent(.apple), .token, fullName: hostile)
        let expected = "Kim " + String(repeating: "é", count: 96)
        #expect(session.account.displayName?.text == expected)
        #expect(try await stored() == [expected])
        #expect(DisplayName(givenName: "\u{202E}", familyName: "\u{0} ") == nil)
    }

    @Test func `a ticket carries the name to the account that it is bound to, if that has none`() async throws {
        let unnamed = try await fixture.account(.apple)
        let ticket = try await fixture.ticket(try await fixture.consent(.google), fullName: try Self.name("Kim Lee"))
        #expect(try await fixture.bind(ticket, to: unnamed).account.displayName?.text == "Kim Lee")

        let named = try await fixture.create(
            try await fixture.ticket(try await fixture.consent(.apple, "ada")), displayName: try Self.name("Ada"))
        let other = try await fixture.ticket(
            try await fixture.consent(.google, "ada"), fullName: try Self.name("Ada Byron"))
        #expect(try await fixture.bind(other, to: named).account.displayName?.text == "Ada")
    }

    @Test func `the name that is given at creation comes before the one of the ticket`() async throws {
        let apple = try await fixture.ticket(try await fixture.consent(.apple), fullName: try Self.name("Kim Lee"))
        #expect(try await fixture.create(apple, displayName: try Self.name("K.")).account.displayName?.text == "K.")
        let ada = try await fixture.ticket(
            try await fixture.consent(.apple, "ada"), fullName: try Self.name("Ada Byron"))
        #expect(try await fixture.create(ada).account.displayName?.text == "Ada Byron")
    }

    @Test func `of names that come at once one is kept, and every answer is true`() async throws {
        _ = try await fixture.account(.apple)
        let consent = try await fixture.consent(.apple)
        let answers = try await concurrently(1...10) { number -> String? in
            let name = try Self.name("Kim \(number)")
            return try await fixture.session(consent, .token, fullName: name).account.displayName?.text
        }
        let stored = try await stored()
        // A call that lost the race may have read before the winner wrote, and then answers that there is no name.
        #expect(answers.allSatisfy { $0 == nil || $0 == stored[0] })
        #expect(answers.contains(stored[0]))
    }
}
