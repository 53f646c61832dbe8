import Accounts
import Curl
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// People whose address may have two notices of each kind an hour, and a worker that mails them.
private struct NoticeFixture: TestFixture {
    let people: SignInFixture
    let mails = SentMails()

    static func run(_ body: (NoticeFixture) async throws -> Void) async throws {
        let limits = [LimitKind.mailPerAddress: RateLimit.limit(count: 2, seconds: 3600)]
        try await SignInFixture.withMail(limits: limits) { try await body(NoticeFixture(people: $0)) }
    }

    /// Sends all that is due.
    func send(by transport: (any MailTransport)? = nil) async throws {
        let worker = MailWorker(
            store: people.storage.mails, transport: transport ?? mails, templates: MailTemplates(serviceName: "Lamp"),
            sender: try #require(EmailAddress("lamp@auth.example.com")), codes: EmailCodes(keyRing: people.keyRing),
            allowsNotice: { notice, address in try await people.service.notices.draw(notice, to: address) },
            hold: { _ in }, clock: people.clock, logger: .silent)
        while try await worker.sendNext() {}
    }
}

/// How many notices are mailed to an address that no account has proven.
@Suite(.fixture(NoticeFixture.self)) struct NoticeAllowanceTests {
    var fixture: SignInFixture { NoticeFixture.current.people }
    private var mails: SentMails { NoticeFixture.current.mails }

    private static let email = "kim@example.com"
    /// The provider states the address, whose mailbox another person reads by now.
    private static let former = Person.google("1", SignInFixture.email(email))

    private func send(by transport: (any MailTransport)? = nil) async throws {
        try await NoticeFixture.current.send(by: transport)
    }

    /// Makes an account with Apple beside the provider that states its address, and deletes it.
    private func round() async throws {
        let created = try await fixture.signUp(Self.former)
        #expect(created.account.email?.text == Self.email)
        _ = try await fixture.bind(.apple("a-1"), created.session.credential)
        try await send()
        try await fixture.deleteAccount(created)
    }

    @Test func `an account that is made and deleted in a loop mails two notices of each kind, not two each time`()
        async throws
    {
        for _ in 0..<5 { try await round() }
        #expect(await mails.count(about: "Your address is now used") == 2)
        #expect(await mails.count(about: "Apple was linked") == 2)
        fixture.clock.advance(by: 1800)
        try await round()
        #expect(await mails.count(about: "Your address is now used") == 3)
        #expect(await mails.count(about: "Apple was linked") == 3)
        #expect(try await fixture.count("outbox WHERE kind = 'mail'") == 0)
    }

    @Test func `a notice of another provider is not one that says the same`() async throws {
        for _ in 0..<3 { try await round() }
        let last = try await fixture.signUp(.apple("a-2", SignInFixture.appleMail(Self.email)))
        _ = try await fixture.bind(.google("2"), last.session.credential)
        try await send()
        #expect(await mails.count(about: "Apple was linked") == 2)
        #expect(await mails.count(about: "Google was linked") == 1)
    }

    @Test func `an account that its provider alone has proven mails no more either when it is new`() async throws {
        for _ in 0..<5 {
            let created = try await fixture.signUp(.google("1", SignInFixture.hosted(Self.email)))
            #expect(created.account.emailProof == .proven)
            try await send()
            try await fixture.deleteAccount(created)
        }
        #expect(await mails.count(about: "Your address is now used") == 2)
    }

    @Test func `an address that its account has proven gets every notice`() async throws {
        let member = try await fixture.member(Self.email)
        try await fixture.forgetMails()
        var password = SignInFixture.password
        for number in 0..<4 {
            let next = "long password \(number)"
            try await fixture.changePassword(of: member, from: password, to: next)
            password = next
        }
        try await send()
        #expect(await mails.count(about: "The password of your Lamp account was changed") == 4)
    }

    @Test func `a notice that is tried again counts once`() async throws {
        let first = try await fixture.signUp(Self.former)
        try await send(by: BrokenTransport(error: MailTransportError(.closed)))
        fixture.clock.advance(by: 2)
        try await send()
        try await fixture.deleteAccount(first)
        _ = try await fixture.signUp(Self.former)
        try await send()
        #expect(await mails.count(about: "Your address is now used") == 2)
    }
}

/// A transport that keeps what is sent.
private actor SentMails: MailTransport {
    private var messages: [String] = []

    func send(_ mail: OutgoingMail) async throws(MailTransportError) {
        messages.append(String(decoding: mail.content, as: UTF8.self))
    }

    /// The number of those whose subject begins like this.
    func count(about subject: String) -> Int { messages.count { $0.contains("Subject: \(subject)") } }
}
