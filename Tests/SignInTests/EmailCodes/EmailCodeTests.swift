import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Codes by mail: the answer does not depend on whether an account has the address, and each code is good once.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct EmailCodeTests {
    var fixture: SignInFixture { .current }

    private static let email = "kim@example.com"

    @Test func `a mailed code signs in once`() async throws {
        let member = try await fixture.member(Self.email)
        let code = try await fixture.code(.signIn, for: "Kim@Example.com")
        let signedIn = try await fixture.signIn("KIM@example.com", code: code)
        #expect(signedIn.account.id == member.account.id)
        #expect(signedIn.identity == nil)
        let session = try await fixture.opened(signedIn)
        #expect(session.methods == [.oneTimeCode])
        #expect(session.authenticatedAt == fixture.clock.now())
        // An account that proved its address before loses nothing.
        #expect(try await fixture.isLive(member))
        #expect(signedIn.account.hasPassword)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email, code: code) }
    }

    @Test func `of fifty tries of a code at once one wins`() async throws {
        _ = try await fixture.member(Self.email)
        let sessions = try await fixture.count("sessions")
        let code = try await fixture.code(.signIn, for: Self.email)
        let outcomes = try await race(50) { _ in try await fixture.signIn(Self.email, code: code) }
        #expect(outcomes == ["won": 1, "invalidCredentials": 49])
        #expect(try await fixture.count("sessions") == sessions + 1)
    }

    @Test func `of fifty wrong tries at once five are looked at`() async throws {
        let code = try await fixture.code(.signIn, for: Self.email)
        let outcomes = try await race(50) { _ in
            try await fixture.signIn(Self.email, code: SignInFixture.wrong(code))
        }
        #expect(outcomes == ["invalidCredentials": 50])
        #expect(try await fixture.texts("SELECT tries::text FROM mailed_codes") == ["5"])
    }

    @Test func `a code lives ten minutes and not a second longer`() async throws {
        _ = try await fixture.member(Self.email)
        let early = try await fixture.code(.signIn, for: Self.email)
        fixture.clock.advance(by: 599)
        _ = try await fixture.signIn(Self.email, code: early)
        let late = try await fixture.code(.signIn, for: Self.email)
        fixture.clock.advance(by: 600)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email, code: late) }
    }

    // That of a registration is one of a flow of our pages.
    @Test(arguments: EmailCodePurpose.allCases.filter { $0 != .register })
    func `a code of one purpose is good for no other`(purpose: EmailCodePurpose) async throws {
        let member = try await fixture.member(Self.email)
        let session = try await fixture.opened(member)
        // So that there is something to prove.
        try await fixture.setPendingEmail("kim@new.example", of: Self.email)
        let ticket = try await fixture.ticket(.google("1"))
        let address = purpose == .verifyEmail ? "kim@new.example" : Self.email
        let code = try await fixture.code(purpose, for: address, ticket: purpose == .bind ? ticket : nil)
        let codes = fixture.service.emailCodes
        let uses: [(EmailCodePurpose, @Sendable () async throws -> Void)] = [
            (.signIn, { _ = try await fixture.signIn(address, code: code) }),
            (.resetPassword, { try await fixture.reset(address, code: code) }),
            (.bind, { _ = try await fixture.bind(ticket, .emailCode(email: address, code: code)) }),
            (.verifyEmail, { try await codes.verifyEmail(code: code, of: session, by: fixture.call) }),
        ]
        for (use, call) in uses where use != purpose {
            try await expectFailure("invalidCredentials") { try await call() }
        }
        // For its own purpose it is still good.
        for (use, call) in uses where use == purpose { try await call() }
    }

    @Test func `a code of one address is good for no other`() async throws {
        _ = try await fixture.member(Self.email)
        _ = try await fixture.member("ada@example.com")
        let code = try await fixture.code(.signIn, for: "ada@example.com")
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email, code: code) }
        for address in ["", "no address", "ada@example.com\u{0}", "ada@example.com "] {
            try await expectFailure("invalidCredentials") { try await fixture.signIn(address, code: code) }
        }
        _ = try await fixture.signIn("ada@example.com", code: code)
    }

    @Test(arguments: ["", "12345", "1234567", "0000000", "ä23456", "١٢٣٤٥٦", "-12345"])
    func `what is not the code is refused`(typed: String) async throws {
        _ = try await fixture.member(Self.email)
        _ = try await fixture.code(.signIn, for: Self.email)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email, code: typed) }
    }

    @Test func `blanks between the digits don't count`() async throws {
        _ = try await fixture.member(Self.email)
        let code = try await fixture.code(.signIn, for: Self.email)
        #expect(code.utf8.count == 6)
        _ = try await fixture.signIn(Self.email, code: " \(code.prefix(3)) \(code.suffix(3)) ")
    }

    @Test(arguments: [0x660, 0x6F0, 0x966, 0xFF10, 0x1D7CE] as [UInt32])
    func `the digits of a code may be of any script, with spaces and marks of any kind between them`(
        zero: UInt32
    ) async throws {
        _ = try await fixture.member(Self.email)
        let code = try await fixture.code(.signIn, for: Self.email)
        let digits = String(
            String.UnicodeScalarView(code.utf8.compactMap { Unicode.Scalar(zero + UInt32($0) - 0x30) }))
        try await expectFailure("invalidCredentials") {
            try await fixture.signIn(Self.email, code: digits + digits.suffix(1))
        }
        _ = try await fixture.signIn(
            Self.email, code: "\u{2066}\(digits.prefix(3))\u{A0}\u{200B}\(digits.suffix(3))\u{2069}\u{3000}")
    }

    @Test func `a code whose key left the key ring is wrong`() async throws {
        _ = try await fixture.member(Self.email)
        let code = try await fixture.code(.signIn, for: Self.email)
        try await fixture.database.execute("UPDATE mailed_codes SET key_id = 'k0'")
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email, code: code) }
    }

    @Test func `a code of a disabled account is refused as such, and stays`() async throws {
        let member = try await fixture.member(Self.email)
        let code = try await fixture.code(.signIn, for: Self.email)
        let reset = try await fixture.code(.resetPassword, for: Self.email)
        try await fixture.disable(member)
        try await expectFailure("accountDisabled") { try await fixture.signIn(Self.email, code: code) }
        try await expectFailure("accountDisabled") { try await fixture.reset(Self.email, code: reset) }
        let ticket = try await fixture.ticket(.google("1"))
        let proof = try await fixture.mailedProof(of: Self.email, for: ticket)
        try await expectFailure("accountDisabled") { try await fixture.bind(ticket, proof) }
        #expect(try await fixture.count("mailed_codes") == 3)
        #expect(try await fixture.count("sessions") == 1)
        try await fixture.database.execute("UPDATE accounts SET status = 'active'")
        _ = try await fixture.signIn(Self.email, code: code)
        _ = try await fixture.bind(ticket, proof)
    }

    @Test func `a weak password costs no try of a reset code`() async throws {
        _ = try await fixture.member(Self.email)
        let code = try await fixture.code(.resetPassword, for: Self.email)
        for weak in ["short", "password", Self.email, String(repeating: "x1", count: 513)] {
            try await expectFailure("weakPassword") { try await fixture.reset(Self.email, code: code, to: weak) }
        }
        let tries = try await fixture.texts("SELECT tries::text FROM mailed_codes WHERE purpose = 'resetPassword'")
        #expect(tries == ["0"])
        try await fixture.reset(Self.email, code: code)
    }

    // MARK: Addresses without an account

    @Test func `a code for an address without an account is queued like any other`() async throws {
        _ = try await fixture.member("known@example.com")
        _ = try await fixture.signUp(.google("1", SignInFixture.email("without@example.com")))
        try await fixture.disable(try await fixture.register("disabled@example.com"))
        try await fixture.forgetMails()
        try await fixture.database.execute("DELETE FROM mailed_codes")
        let classes = [
            "known@example.com", "unknown@example.com", "without@example.com", "disabled@example.com",
            "pending@example.com",
        ]
        try await fixture.setPendingEmail("pending@example.com", of: "known@example.com")
        var written: Set<[Int64]> = []
        for purpose in [EmailCodePurpose.signIn, .resetPassword, .verifyEmail] {
            for email in classes {
                let before = try await rows(fixture)
                try await fixture.mailCode(purpose, to: email)
                written.insert(zip(try await rows(fixture), before).map(-))
            }
        }
        #expect(written == [[1, 1, 1, 0, 0, 0]])
        // The queued rows differ by the address alone.
        let queued = try await fixture.texts(
            """
            SELECT DISTINCT (to_jsonb(o) - 'recipient' - 'message_id' - 'code_id')::text
            FROM outbox o WHERE template = 'sign_in_code'
            """)
        #expect(queued.count == 1)
        #expect(try await fixture.count("outbox WHERE kind = 'mail'") == 15)
        #expect(try await fixture.count("mailed_codes") == 15)
    }

    private func rows(_ fixture: SignInFixture) async throws -> [Int64] {
        var counts: [Int64] = []
        for table in [
            "outbox", "mailed_codes", "mailed_code_networks", "guessed_addresses", "audit_events", "sessions",
        ] as [SQL] { counts.append(try await fixture.count(table)) }
        return counts
    }

    @Test func `the right digits for nobody's address are as wrong as any`() async throws {
        let ticket = try await fixture.ticket(.google("1"))
        let unknownEmail = "nobody@example.com"
        let before = try await fixture.state().count
        let signIn = try await fixture.code(.signIn, for: unknownEmail)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(unknownEmail, code: signIn) }
        let reset = try await fixture.code(.resetPassword, for: unknownEmail)
        try await expectFailure("invalidCredentials") { try await fixture.reset(unknownEmail, code: reset) }
        let proof = try await fixture.mailedProof(of: unknownEmail, for: ticket)
        try await expectFailure("invalidCredentials") { try await fixture.bind(ticket, proof) }
        // Nothing but the three queued mails.
        #expect(try await fixture.state().count == before + 3)
        _ = try await fixture.create(ticket)
    }

    @Test func `a code outlives no account`() async throws {
        let member = try await fixture.member(Self.email)
        let code = try await fixture.code(.signIn, for: Self.email)
        try await fixture.setPendingEmail("ada@example.com", of: Self.email)
        // Her codes are her own, also while another account wants her address.
        _ = try await fixture.member("ada@example.com")
        let hers = try await fixture.code(.signIn, for: "ada@example.com")
        try await fixture.deleteAccount(member)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email, code: code) }
        _ = try await fixture.signIn("ada@example.com", code: hers)
    }

    @Test func `an account whose address was never proven leaves no code behind`() async throws {
        let typed = try await fixture.register(Self.email)
        _ = try await fixture.code(.signIn, for: Self.email)
        try await fixture.setPendingEmail("ada@example.com", of: Self.email)
        _ = try await fixture.code(.verifyEmail, for: "ada@example.com")
        #expect(try await fixture.count("mailed_codes") == 2)
        try await fixture.deleteAccount(typed)
        #expect(try await fixture.count("mailed_codes") == 0)
    }

    @Test func `look-alikes of an address get codes of their own and never the victim's`() async throws {
        let victim = try await fixture.member("mike@example.com")
        let code = try await fixture.code(.signIn, for: "mike@example.com")
        // Dotless i, Kelvin sign, full-width, combining: what Unicode folding or normalisation joins.
        for lookalike in [
            "m\u{131}ke@example.com", "mi\u{212A}e@example.com", "M\u{130}KE@example.com",
            "\u{FF4D}ike@example.com", "mike\u{301}@example.com",
        ] {
            try await expectFailure("invalidCredentials") { try await fixture.signIn(lookalike, code: code) }
            let own = try await fixture.code(.signIn, for: lookalike)
            try await expectFailure("invalidCredentials") { try await fixture.signIn(lookalike, code: own) }
        }
        #expect(try await fixture.signIn("mike@example.com", code: code).account.id == victim.account.id)
        let recipients = try await fixture.mails(.signInCode).map(\.recipient)
        #expect(recipients.count { $0.utf8.elementsEqual("mike@example.com".utf8) } == 1)
    }

    // MARK: Mail

    @Test(.fixture(SignInFixture.self)) func `without mail no code can be had, and all else works`() async throws {
        let registered = try await fixture.register(Self.email)
        for email in [Self.email, "unknown@example.com", "no address"] {
            try await expectFailure("mailUnavailable") { try await fixture.mailCode(.signIn, to: email) }
        }
        try await expectFailure("mailUnavailable") { try await fixture.requestEmail("kim@new.example", of: registered) }
        try await fixture.changePassword(of: registered)
        _ = try await fixture.bind(.google("1"), registered.session.credential)
        for table in ["outbox", "mailed_codes"] as [SQL] { #expect(try await fixture.count(table) == 0) }
    }
}
