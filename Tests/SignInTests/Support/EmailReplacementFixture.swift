import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// People whose addresses an administrator replaces, and the workers of two processes that carry it out.
struct EmailReplacementFixture: TestFixture {
    static let old = "kim@example.com"
    static let new = "kim@new.example"
    /// The address of the Google identity.
    static let work = "kim@work.example"
    static let day: Int64 = 86_400

    let people: SignInFixture
    let admin: AdministrationFixture
    let sweepers: [RetentionSweeper]

    static func run(_ body: (EmailReplacementFixture) async throws -> Void) async throws {
        try await SignInFixture.withMail { people in
            // Ahead of the database's, which alone decides about a request by a clock that is behind.
            people.clock.set(to: try await people.storage.databaseTime().seconds + 3_600)
            let sweepers = (0..<2).map { _ in people.storage.sweeper(clock: people.clock) }
            let admin = try await people.administered()
            try await body(EmailReplacementFixture(people: people, admin: admin, sweepers: sweepers))
        }
    }

    /// A person whose account has a proven address, a password and a Google identity with another address. No mail
    /// waits.
    func member() async throws -> SignedIn {
        let member = try await people.member(Self.old)
        _ = try await people.bind(.google("g-1", SignInFixture.email(Self.work)), member.session.credential)
        try await people.forgetMails()
        return member
    }

    @discardableResult
    func request(_ email: String = new, for signedIn: SignedIn) async throws -> EmailReplacement {
        try await request(email, for: signedIn.account.id)
    }

    @discardableResult
    func request(_ email: String = new, for id: AccountID) async throws -> EmailReplacement {
        try await admin.administration.replaceEmail(
            of: id, by: try #require(EmailAddress(email)), reason: "case 17", by: admin.administrator)
    }

    /// A member whose address is to be replaced.
    func requested() async throws -> SignedIn {
        let member = try await member()
        try await request(for: member)
        return member
    }

    /// Carries out what is due.
    func sweep() async throws { _ = try await sweepers[0].sweep() }

    /// Lets a day pass, and carries out what is due then.
    func sweepInADay() async throws {
        people.clock.advance(by: Self.day)
        try await sweep()
    }

    /// The address of the account.
    func address(_ signedIn: SignedIn) async throws -> String? { try await people.account(signedIn).email?.text }

    func isPending() async throws -> Bool { try await people.count("email_replacements") > 0 }

    /// What was recorded of replacements of the account's address, sorted: type, actor, name of the key and reason.
    func recorded(of signedIn: SignedIn) async throws -> [String?] {
        try await people.texts(
            """
            SELECT concat_ws(' ', type, actor, actor_name, reason)
            FROM audit_events
            WHERE account_id = \(signedIn.account.id) AND starts_with(type, 'email_repla')
            ORDER BY 1
            """)
    }

    static let requested = "email_replacement_requested administrator kim@support case 17"
}
