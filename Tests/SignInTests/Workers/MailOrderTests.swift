import Accounts
import Curl
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Which of the mails that wait is sent next.
@Suite(.fixture(MailFixture.self), .timeLimit(.minutes(5))) struct MailOrderTests {
    var fixture: MailFixture { .current }

    private static let notices = (1...3).map { "notice-\($0)@example.com" }

    /// Queues the notices a second apart.
    private func enqueueNotices() async throws {
        for address in Self.notices {
            try await fixture.enqueue("client_linked", to: address)
            fixture.clock.advance(by: 1)
        }
    }

    /// The recipients of all mails that are due, in the order in which they are claimed.
    private func claimAll() async throws -> [String] {
        var recipients: [String] = []
        while let mail = try await fixture.claim() { recipients.append(mail.recipient?.text ?? "") }
        return recipients
    }

    @Test func `codes go before all notices, and each kind in the order in which it came`() async throws {
        try await enqueueNotices()
        try await fixture.addCode(to: "ada@example.com")
        fixture.clock.advance(by: 1)
        try await fixture.addCode(to: "kim@example.com")
        #expect(try await claimAll() == ["ada@example.com", "kim@example.com"] + Self.notices)
        // The processes that had claimed them have died.
        try await fixture.storage.age(claimsBy: MailWorker.lease)
        #expect(try await claimAll() == ["ada@example.com", "kim@example.com"] + Self.notices)
    }

    @Test func `a code that was put off holds no notice up, and goes first once it is due`() async throws {
        try await enqueueNotices()
        try await fixture.addCode(to: "ada@example.com")
        let code = try #require(try await fixture.claim())
        #expect(code.recipient?.text == "ada@example.com")
        // On its way, and put off.
        #expect(try await fixture.claim()?.recipient?.text == Self.notices[0])
        let due = fixture.clock.now().advanced(bySeconds: 4)
        try await fixture.storage.mails.postpone(code, error: "smtp_450", until: due)
        #expect(try await fixture.claim()?.recipient?.text == Self.notices[1])
        fixture.clock.advance(by: 4)
        let again = try #require(try await fixture.claim())
        #expect(again.recipient?.text == "ada@example.com")
        #expect(again.attempt == 2)
        #expect(try await claimAll() == [Self.notices[2]])
    }

    @Test func `a flood of notices delays no code`() async throws {
        for number in 1...200 { try await fixture.enqueue("client_linked", to: "kim-\(number)@example.com") }
        fixture.clock.advance(by: 60)
        try await fixture.addCode(to: "ada@example.com")
        #expect(try await fixture.makeWorker().sendNext())
        #expect(try await fixture.arrived().map(\.recipients) == [["ada@example.com"]])
    }

    // MARK: In turn

    private static func caller(_ network: Network, in wideNetwork: Network) -> Caller {
        Caller(requestID: "asked", address: nil, network: network, wideNetwork: wideNetwork, device: nil)
    }

    /// How many of two hundred codes that were asked for within a second go before one that is asked for then.
    private func codes(before other: Caller, of flood: (Int) -> Caller) async throws -> Int? {
        for number in 1...200 { try await fixture.issue(.signIn, to: "kim-\(number)@example.com", from: flood(number)) }
        fixture.clock.advance(by: 1)
        try await fixture.issue(.signIn, to: "ada@example.com", from: other)
        let sent = try await claimAll()
        #expect(sent.count == 201)
        return sent.firstIndex(of: "ada@example.com")
    }

    @Test(
        arguments: [("198.51.100.0/24", "198.51.0.0/16", 1), ("192.0.7.0/24", "192.0.0.0/16", 10)]
            as [(Network, Network, Int)])
    func `behind two hundred codes of one network another one's is among the next few, also of its wide network's`(
        network: Network, wideNetwork: Network, place: Int
    ) async throws {
        let before = try await codes(before: Self.caller(network, in: wideNetwork)) { _ in
            Self.caller("192.0.2.0/24", in: "192.0.0.0/16")
        }
        #expect(before == place)
    }

    @Test func `behind two hundred networks of a wide network another one's code is among the next few`() async throws {
        let before = try await codes(before: Self.caller("2001:db8:2:1::/64", in: "2001:db8:2::/48")) { number in
            Self.caller(Network("2001:db8:1:\(number)::/64"), in: "2001:db8:1::/48")
        }
        let place = try #require(before)
        #expect((4...5).contains(place))
    }

    @Test func `codes of one network go in their order, and one that was put off keeps its turn`() async throws {
        let caller = Self.caller("192.0.2.0/24", in: "192.0.0.0/16")
        let addresses = (1...4).map { "kim-\($0)@example.com" }
        for address in addresses { try await fixture.issue(.signIn, to: address, from: caller) }
        var claimed: [ClaimedMail] = []
        while let mail = try await fixture.claim() { claimed.append(mail) }
        #expect(claimed.compactMap(\.recipient?.text) == addresses)
        let last = try #require(claimed.last)
        let due = fixture.clock.now().advanced(bySeconds: 1)
        try await fixture.storage.mails.postpone(last, error: "smtp_450", until: due)
        fixture.clock.advance(by: 2)
        let other = Self.caller("198.51.100.0/24", in: "198.51.0.0/16")
        try await fixture.issue(.signIn, to: "ada@example.com", from: other)
        #expect(try await claimAll() == ["ada@example.com", addresses[3]])
    }

    // MARK: What is dropped

    @Test func `a code that is dropped holds up those behind it as long as one that is sent`() async throws {
        // Dropped before anything was sent, sent, dropped for want of an account, dropped as it was used, and sent.
        try await fixture.issue(.signIn, to: "nobody@example.com")
        fixture.clock.advance(by: 1)
        try await fixture.addCode(to: "ada@example.com")
        for purpose in [EmailCodePurpose.signIn, .resetPassword] {
            fixture.clock.advance(by: 1)
            try await fixture.issue(purpose, to: "none@example.com")
        }
        fixture.clock.advance(by: 1)
        try await fixture.addCode(to: "used@example.com")
        try await fixture.database.execute("DELETE FROM mailed_codes WHERE email = 'used@example.com'")
        fixture.clock.advance(by: 1)
        try await fixture.addCode(to: "kim@example.com")

        let line = MailLine(try MailFixture.transport(to: fixture.peer))
        let worker = try fixture.makeWorker(transport: line) { await line.hold($0) }
        while try await worker.sendNext() {}
        let steps = await line.steps
        try #require(steps.map(\.what) == ["held", "ada@example.com", "held", "held", "held", "kim@example.com"])
        #expect(steps[0].duration == MailWorker.usualSend)
        for step in steps[2...4] { #expect(step.duration >= min(steps[1].duration, MailWorker.longestHold)) }
    }

    @Test func `a flood of codes that no account awaits holds up none for longer than ten seconds`() async throws {
        for number in 1...5 { try await fixture.issue(.signIn, to: "nobody-\(number)@example.com") }
        fixture.clock.advance(by: MailWorker.longestHoldingWait + 1)
        let line = MailLine(try MailFixture.transport(to: fixture.peer))
        let worker = try fixture.makeWorker(transport: line) { await line.hold($0) }
        while try await worker.sendNext() {}
        #expect(await line.steps.isEmpty)
        #expect(try await fixture.rows().isEmpty)
    }
}

/// A transport that writes down what it sends, and between which mails a worker was held.
private actor MailLine: MailTransport {
    struct Step: Sendable {
        /// The recipient of a mail, or `held`.
        let what: String
        let duration: Duration
    }

    private let transport: any MailTransport
    private(set) var steps: [Step] = []

    init(_ transport: any MailTransport) { self.transport = transport }

    func send(_ mail: OutgoingMail) async throws(MailTransportError) {
        let started = ContinuousClock.now
        try await transport.send(mail)
        steps.append(Step(what: mail.recipient, duration: ContinuousClock.now - started))
    }

    func hold(_ duration: Duration) { steps.append(Step(what: "held", duration: duration)) }
}
