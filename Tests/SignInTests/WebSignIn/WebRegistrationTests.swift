import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// What a new person has typed waits for the code that is mailed, and no longer.
@Suite(.fixture(WebFixture.self)) struct WebRegistrationTests {
    var fixture: WebFixture { .current }

    private func register(_ email: String, in flow: WebFlow) async throws {
        try await fixture.web.register(
            email: email, password: SignInFixture.password, displayName: DisplayName("Kim"),
            in: fixture.reference(flow), by: fixture.call)
    }

    @Test func `it is swept when the code is over, ten minutes after the form`() async throws {
        let first = try await fixture.openAccountFlow()
        try await register("kim@example.com", in: first)
        fixture.clock.advance(by: 300)
        let second = try await fixture.openAccountFlow()
        try await register("lee@example.com", in: second)
        func left() async throws -> Int64 {
            _ = try await fixture.base.sweeper.sweep()
            return try await fixture.count("web_registrations")
        }
        #expect(try await left() == 2)
        fixture.clock.advance(by: 299)
        #expect(try await left() == 2)
        fixture.clock.advance(by: 1)
        #expect(try await left() == 1)
        // Typed once more, it stays as long as the new code.
        try await register("lee@example.com", in: second)
        fixture.clock.advance(by: 599)
        #expect(try await left() == 1)
        fixture.clock.advance(by: 1)
        #expect(try await left() == 0)
    }

    @Test func `what was typed waits for the code that took the place of a mistyped one, and no longer`() async throws {
        let flow = try await fixture.openAccountFlow()
        try await register("kim@example.com", in: flow)
        @Sendable func confirm(_ code: String) async throws -> WebStep {
            try await fixture.web.confirmRegistration(code: code, in: fixture.reference(flow), by: fixture.call)
        }
        func mailAgain() async throws {
            try await fixture.web.mailRegistrationCode(in: fixture.reference(flow), by: fixture.call)
        }
        let first = try await fixture.mailedCode(.register, to: "kim@example.com")
        fixture.clock.advance(by: 300)
        // The same code again: nothing is put off.
        try await mailAgain()
        let ends: SQL = "web_registrations r JOIN web_flows f ON f.flow_id = r.flow_id AND f.expires_at = r.expires_at"
        let end = fixture.clock.now().advanced(bySeconds: 300)
        #expect(try await fixture.count("\(ends) WHERE r.expires_at = \(end)") == 1)
        fixture.clock.advance(by: 240)
        for _ in 0..<5 {
            try await expectFailure("invalidCredentials") { try await confirm(SignInFixture.wrong(first)) }
        }
        try await mailAgain()
        let second = try await fixture.mailedCode(.register, to: "kim@example.com")
        #expect(second != first)
        fixture.clock.advance(by: 599)
        _ = try await fixture.base.sweeper.sweep()
        #expect(try await fixture.count(ends) == 1)
        _ = try await confirm(second).cookie
        #expect(try await fixture.count("accounts") == 1)
    }

    @Test func `a code for a new password that is mailed near the end of the flow is good for as long as any other`()
        async throws
    {
        let account = try await fixture.register("kim@example.com")
        let reference = fixture.reference(try await fixture.openAccountFlow())
        fixture.clock.advance(by: 599)
        try await fixture.web.mailResetCode(to: "kim@example.com", in: reference, by: fixture.call)
        let code = try await fixture.mailedCode(.resetPassword, to: "kim@example.com")
        fixture.clock.advance(by: 599)
        let step = try await fixture.web.resetPassword(
            email: "kim@example.com", code: code, newPassword: "another good password", in: reference,
            by: fixture.call)
        let session = try await fixture.session(try step.cookie)
        #expect(session?.accountID == account.account.id)
    }

    @Test(arguments: [true, false])
    func `the feed has who registers, also in the place of who only claimed the address`(isClaimed: Bool) async throws {
        if isClaimed { try await fixture.register("kim@example.com") }
        try await fixture.forgetEvents()
        let flow = try await fixture.openAccountFlow()
        try await register("kim@example.com", in: flow)
        let code = try await fixture.mailedCode(.register, to: "kim@example.com")
        _ = try await fixture.web.confirmRegistration(code: code, in: fixture.reference(flow), by: fixture.call)
        // The password of before is taken away, and another one set.
        let taken = [
            "account.email_changed proven person", "account.password_changed person",
            "account.password_changed policy", "session.revoked person",
        ]
        #expect(try await fixture.announced() == (isClaimed ? taken : ["account.created signUp"]))
    }

    @Test func `a flow for one provider alone takes neither a registration nor a new password`() async throws {
        try await fixture.register("lee@example.com")
        try await fixture.web.mailResetCode(
            to: "lee@example.com", in: fixture.reference(try await fixture.openAccountFlow()), by: fixture.call)
        let code = try await fixture.mailedCode(.resetPassword, to: "lee@example.com")
        let mails = try await fixture.count("outbox WHERE kind = 'mail'")
        let flow = try await fixture.open { $0.provider = ["google"] }
        let reference = fixture.reference(flow)
        try await expectFailure("webFlowExpired") { try await register("kim@example.com", in: flow) }
        try await expectFailure("webFlowExpired") {
            try await fixture.web.mailRegistrationCode(in: reference, by: fixture.call)
        }
        try await expectFailure("webFlowExpired") {
            try await fixture.web.confirmRegistration(code: code, in: reference, by: fixture.call)
        }
        try await expectFailure("webFlowExpired") {
            try await fixture.web.mailResetCode(to: "lee@example.com", in: reference, by: fixture.call)
        }
        try await expectFailure("webFlowExpired") {
            try await fixture.web.resetPassword(
                email: "lee@example.com", code: code, newPassword: "another good password", in: reference,
                by: fixture.call)
        }
        #expect(try await fixture.count("web_registrations") == 0)
        #expect(try await fixture.count("outbox WHERE kind = 'mail'") == mails)
        _ = try await fixture.signIn("lee@example.com")
    }

    // MARK: What fails spends nothing

    /// Runs a step while the database takes no flow for its person, then another time.
    private func afterFault<Value: Sendable>(_ step: @Sendable () async throws -> Value) async throws -> Value {
        try await fixture.database.execute(
            "ALTER TABLE web_flows ADD CONSTRAINT web_flows_fault CHECK (status NOT IN ('verifying', 'coded'))")
        try await expectFailure("fault") { try await step() }
        try await fixture.database.execute("ALTER TABLE web_flows DROP CONSTRAINT web_flows_fault")
        return try await step()
    }

    @Test(arguments: [true, false])
    func `where the flow can't go on no account is made, and the code is good still`(isOfApp: Bool) async throws {
        let flow = try await isOfApp ? fixture.open() : fixture.openAccountFlow()
        try await register("kim@example.com", in: flow)
        let code = try await fixture.mailedCode(.register, to: "kim@example.com")
        let step = try await afterFault {
            #expect(try await fixture.count("accounts") == 0)
            return try await fixture.web.confirmRegistration(code: code, in: fixture.reference(flow), by: fixture.call)
        }
        if isOfApp {
            let signedIn = try await fixture.exchange(try step.code).session
            #expect(signedIn.account.email?.text == "kim@example.com" && signedIn.account.emailProof == .proven)
        } else {
            let session = try await fixture.web.sessions.session(of: try step.cookie, by: fixture.call)
            #expect(session?.methods == [.password])
        }
        #expect(try await fixture.count("accounts") == 1)
        #expect(try await fixture.count("mailed_codes") == 0)
    }

    @Test func `where the flow can't go on the password stays, and the code is good still`() async throws {
        let account = try await fixture.register("kim@example.com")
        let flow = try await fixture.openAccountFlow()
        try await fixture.web.mailResetCode(to: "kim@example.com", in: fixture.reference(flow), by: fixture.call)
        let code = try await fixture.mailedCode(.resetPassword, to: "kim@example.com")
        let step = try await afterFault {
            // Of before.
            #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
            return try await fixture.web.resetPassword(
                email: "kim@example.com", code: code, newPassword: "another good password",
                in: fixture.reference(flow), by: fixture.call)
        }
        let session = try await fixture.web.sessions.session(of: try step.cookie, by: fixture.call)
        #expect(session?.accountID == account.account.id && session?.methods == [.password])
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
    }
}
