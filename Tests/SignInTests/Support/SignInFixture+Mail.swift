import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// A mail in the outbox.
struct QueuedMail: Sendable, Hashable {
    let template: String
    let recipient: String
    var language = "en"
    var provider: String?
}

extension SignInFixture {
    static let password = "correct horse battery"

    /// Runs `body` where mail is sent, in English unless a client wants German.
    static func withMail(
        policy: VerifiedEmailPolicy = .prompt, strays: StrayAccountPolicy = .refuse,
        limits: [LimitKind: RateLimit] = [:], _ body: (SignInFixture) async throws -> Void
    ) async throws {
        try await run(
            policy: policy,
            configure: { ($0.mailLanguages, $0.strayAccountPolicy, $0.limits) = (["en", "de"], strays, limits) }, body)
    }

    // MARK: People

    /// A new account with a password, whose address is proven.
    func member(_ email: String) async throws -> SignedIn {
        let registered = try await register(email)
        let code = try await code(.verifyEmail, for: email)
        try await service.emailCodes.verifyEmail(code: code, of: try await opened(registered), by: call)
        return registered
    }

    func isLive(_ signedIn: SignedIn) async throws -> Bool {
        try await storage.sessions.live(signedIn.session.id, by: .at(clock.now())) != nil
    }

    func account(_ signedIn: SignedIn) async throws -> Account {
        try #require(try await storage.accounts.account(signedIn.account.id))
    }

    /// Makes `pending` the pending address of the account that has `email`.
    func setPendingEmail(_ pending: String, of email: String) async throws {
        try await database.execute(
            """
            UPDATE accounts
            SET pending_email = \(pending), pending_email_expires_at = \(clock.now().advanced(bySeconds: 86_400))
            WHERE email = \(email)
            """)
    }

    // MARK: Codes

    func mailCode(_ purpose: EmailCodePurpose, to email: String, for ticket: LinkRequired? = nil) async throws {
        try await service.emailCodes.mailCode(to: email, for: purpose, linkTicket: ticket?.linkTicket, by: call)
    }

    /// The digits that the mail has, or would have if an account had the address.
    func digits(_ purpose: EmailCodePurpose, of email: String, ticket: LinkRequired? = nil) async throws -> String {
        let code = try await MailedCode.read(
            purpose, to: email, linkTicket: ticket?.linkTicket, at: clock.now(), from: database, keyRing: keyRing)
        return try #require(code).digits
    }

    /// Has a code mailed, and reads it.
    func code(_ purpose: EmailCodePurpose, for email: String, ticket: LinkRequired? = nil) async throws -> String {
        try await mailCode(purpose, to: email, for: ticket)
        return try await digits(purpose, of: email, ticket: ticket)
    }

    /// Has a code mailed for a ticket, as the proof of the account that has the address.
    func mailedProof(of email: String, for ticket: LinkRequired) async throws -> BindCredential {
        .emailCode(email: email, code: try await code(.bind, for: email, ticket: ticket))
    }

    /// As many digits that are not these.
    static func wrong(_ digits: String) -> String { String(digits.map { $0 == "9" ? "0" : "9" }) }

    func signIn(_ email: String, code: String) async throws -> SignedIn {
        try await answer(toCode: code, for: email).session
    }

    /// The answer to a mailed code for signing in.
    func answer(toCode code: String, for email: String) async throws -> SignInAnswer {
        try await service.emailCodes.signIn(email: email, code: code, by: call)
    }

    func reset(_ email: String, code: String, to password: String = "another long password") async throws {
        try await service.emailCodes.resetPassword(email: email, code: code, newPassword: password, by: call)
    }

    // MARK: Queued mail and audit records

    /// The queued mails of these templates, or of all but codes.
    func mails(_ kinds: Mail.Kind...) async throws -> [QueuedMail] {
        let templates =
            kinds.isEmpty
            ? Mail.Kind.allCases.map(\.rawValue).filter { !$0.hasSuffix("_code") } : kinds.map(\.rawValue)
        return try await database.query(
            """
            SELECT template, recipient, language, provider
            FROM outbox
            WHERE kind = 'mail' AND status = 'pending' AND template = ANY (\(templates))
            ORDER BY template, recipient
            """
        ) { row throws(PostgresError) in
            let (template, recipient, language, provider) = try row.decode(
                String.self, String.self, String.self, String?.self)
            return QueuedMail(template: template, recipient: recipient, language: language, provider: provider)
        }
    }

    func forgetMails() async throws { try await database.execute("DELETE FROM outbox WHERE kind = 'mail'") }

    /// The types of an account's audit records.
    func recorded(of signedIn: SignedIn) async throws -> [String] {
        try await database.query(
            "SELECT type FROM audit_events WHERE account_id = \(signedIn.account.id) ORDER BY created_at, event_id",
            as: String.self)
    }

    /// Expects a call to end in the failure of that name, and to change nothing.
    func expectRefusal<Value: Sendable>(
        _ name: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @Sendable () async throws -> Value
    ) async throws {
        let before = try await state()
        try await expectFailure(name, sourceLocation: sourceLocation, body)
        #expect(try await state() == before, sourceLocation: sourceLocation)
    }

    /// All rows of the tables that these calls may change.
    func state() async throws -> [String?] { try await texts(SQL(unsafeSQL: try DataFile("State.sql").text)) }
}
