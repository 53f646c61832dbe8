import Accounts
import Curl
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The mail worker: which mail is sent to whom, which is not, and what becomes of its row in the outbox.
@Suite(.fixture(MailFixture.self), .timeLimit(.minutes(5))) struct MailWorkerTests {
    var fixture: MailFixture { .current }

    @Test func `a code is mailed where a person is to use it, and its row is deleted in any case`() async throws {
        var expected: Set<String> = []
        for purpose in EmailCodePurpose.allCases {
            let name = purpose.rawValue.lowercased()
            let others: Bool = purpose != .verifyEmail
            // Who registers is mailed in any case, with a code or without.
            let isNew = purpose == .register
            for (state, isMailed) in [
                ("nobody", isNew), ("proven", others), ("unproven", true), ("pending", !others || isNew),
            ] {
                let address = "\(name)-\(state)@example.com"
                switch state {
                case "proven": try await fixture.addAccount(address)
                case "unproven": try await fixture.addAccount(address, proof: .claimed)
                case "pending": try await fixture.addAccount(nil, proof: .claimed, pending: address)
                default: break
                }
                try await fixture.issue(purpose, to: address)
                if isMailed { expected.insert(address) }
            }
        }
        #expect(try await fixture.work() == 20)
        #expect(try await fixture.arrived().flatMap(\.recipients).sorted() == expected.sorted())
        #expect(try await fixture.rows().isEmpty)
    }

    @Test func `a notice goes to its address, whichever account has it`() async throws {
        try await fixture.enqueue("email_changed", to: "former@example.com")
        try await fixture.work()
        #expect(try await fixture.arrived().map(\.recipients) == [["former@example.com"]])
        #expect(try await fixture.rows().isEmpty)
    }

    @Test func `of two codes the later one is mailed, and one that was used is not`() async throws {
        try await fixture.addAccount("kim@example.com")
        try await fixture.addAccount("ada@example.com")
        try await fixture.useUpTries(of: try await fixture.issue(.signIn, to: "kim@example.com"))
        let later = try await fixture.issue(.signIn, to: "kim@example.com")
        try await fixture.issue(.signIn, to: "ada@example.com")
        _ = try await fixture.database.execute("DELETE FROM mailed_codes WHERE email = 'ada@example.com'")
        #expect(try await fixture.work() == 3)
        let arrived = try await fixture.arrived()
        #expect(arrived.count == 1)
        let digits = try #require(fixture.codes.digits(of: later))
        #expect(arrived.first?.text?.contains(digits) == true)
        #expect(try await fixture.rows().isEmpty)
    }

    @Test func `a code for one thing is not mailed as one for another`() async throws {
        try await fixture.addCode(to: "kim@example.com")
        _ = try await fixture.database.execute("UPDATE outbox SET template = 'reset_password_code'")
        try await fixture.work()
        #expect(try await fixture.arrived().isEmpty)
        #expect(try await fixture.rows().isEmpty)
    }

    @Test func `a late mail states how long its code is still good`() async throws {
        try await fixture.addCode(.resetPassword, to: "kim@example.com")
        fixture.clock.advance(by: 150)
        try await fixture.work()
        #expect(try await fixture.arrived().first?.text?.contains("in 8 min.") == true)
    }

    @Test func `that a code was mailed is written down with the account that awaits it and who asked`() async throws {
        try await fixture.addAccount("kim@example.com")
        try await fixture.addAccount(nil, proof: .claimed, pending: "ada@example.com")
        try await fixture.issue(.signIn, to: "kim@example.com")
        try await fixture.issue(.verifyEmail, to: "ada@example.com")
        try await fixture.issue(.signIn, to: "nobody@example.com")
        try await fixture.work()
        let recorded = try await fixture.database.query(
            """
            SELECT concat_ws(' ', e.type, e.reason, COALESCE(a.email, a.pending_email), e.request_id)
            FROM audit_events e
            JOIN accounts a ON a.account_id = e.account_id
            ORDER BY e.reason
            """, as: String.self)
        #expect(
            recorded == ["code_mailed signIn kim@example.com asked", "code_mailed verifyEmail ada@example.com asked"])
        #expect(AuditEvent.Kind.codeMailed.rawValue == "code_mailed")
    }

    // MARK: When it fails

    @Test func `what may not have arrived is sent again, as the same message`() async throws {
        try await fixture.addCode(to: "kim@example.com")
        let lossy = LostReplyTransport(transport: try MailFixture.transport(to: fixture.peer))
        #expect(try await fixture.makeWorker(transport: lossy).sendNext())
        #expect(try await fixture.rows().first?.error == "closed")
        try await fixture.waitUntilDue()
        #expect(try await fixture.work() == 1)
        let ids = try await fixture.arrived().map { $0.header("Message-ID") }
        #expect(ids.count == 2)
        #expect(ids.first != .some(nil) && Set(ids).count == 1, "\(ids)")
    }

    @Test func `what the server won't take now is sent a second later`() async throws {
        try await fixture.addCode(to: "once-450@example.com")
        #expect(try await fixture.work() == 1)
        let row = try #require(try await fixture.rows().first)
        #expect(row.status == "pending")
        #expect(row.failures == 1)
        #expect(row.error == "rcpt_450")
        #expect(!row.isClaimed)
        let pause = row.nextAttemptAt.microseconds - fixture.clock.now().microseconds
        #expect((800_000...1_200_000).contains(pause))
        try await fixture.waitUntilDue()
        #expect(try await fixture.work() == 1)
        #expect(try await fixture.arrived().count == 1)
        #expect(try await fixture.rows().isEmpty)
    }

    @Test(arguments: [("rcpt-550", "smtp_550"), ("data-554", "smtp_554")])
    func `what the server will never take is given up, and whom it was for is erased`(
        local: String, error: String
    ) async throws {
        try await fixture.enqueue("password_changed", to: "\(local)@example.com")
        #expect(try await fixture.work() == 1)
        try await fixture.expectGivenUp(error)
        fixture.clock.advance(by: 3_600)
        #expect(try await fixture.work() == 0)
        #expect(try await fixture.arrived().isEmpty)
    }

    @Test func `while no mail server answers the pauses double, until the mail has expired`() async throws {
        try await fixture.addCode(to: "kim@example.com")
        let worker = try fixture.makeWorker(transport: BrokenTransport(error: MailTransportError(.connect)))
        let end = fixture.clock.now().advanced(bySeconds: Lifetimes.emailCodeSeconds)
        var pauses: [Double] = []
        while try await worker.sendNext(), let row = try await fixture.rows().first, row.status == "pending" {
            #expect(row.error == "connect")
            pauses.append(Double(row.nextAttemptAt.microseconds - fixture.clock.now().microseconds) / 1_000_000)
            #expect(row.nextAttemptAt <= end)
            try await fixture.waitUntilDue()
        }
        for (number, pause) in pauses.dropLast().enumerated() {
            let usual = Double(1 << number)
            #expect((0.8 * usual...1.2 * usual).contains(pause), "pause \(number) of \(pause) s")
        }
        #expect((9...11).contains(pauses.count), "\(pauses)")
        #expect(fixture.clock.now() == end)
        try await fixture.expectGivenUp("expired")
    }

    @Test func `a code that the server may have taken is not sent again`() async throws {
        try await fixture.addAccount("kim@example.com")
        let caller = Caller(requestID: "asked", address: nil, network: "192.0.2.0/24", device: nil)
        try await fixture.issue(.signIn, to: "kim@example.com", from: caller)
        let unanswered = BrokenTransport(error: MailTransportError(.timedOutAfterData))
        #expect(try await fixture.makeWorker(transport: unanswered).sendNext())
        try await fixture.expectGivenUp("timed_out_after_data")
    }

    @Test func `a notice that the server may have taken is sent again a few times in its day`() async throws {
        try await fixture.enqueue("password_changed", to: "kim@example.com")
        let start = fixture.clock.now()
        let unanswered = BrokenTransport(error: MailTransportError(.timedOutAfterData))
        let worker = try fixture.makeWorker(transport: unanswered)
        var hours: [Int64] = []
        while try await worker.sendNext(), let row = try await fixture.rows().first, row.status == "pending" {
            #expect(row.error == "timed_out_after_data")
            hours.append((row.nextAttemptAt.seconds - start.seconds) / 3600)
            try await fixture.waitUntilDue()
        }
        #expect(hours == [1, 2, 4, 8, 16, 24])
        try await fixture.expectGivenUp("expired")
    }

    @Test(arguments: [(535, "refused user and password"), (nil, "offered no login")] as [(Int?, String)])
    func `credentials that are good for nothing cost no mail, and are logged for the operator`(
        reply: Int?, text: String
    ) async throws {
        try await fixture.enqueue("password_changed", to: "kim@example.com")
        let refused = MailTransportError(.notAuthenticated, reply: reply)
        _ = try await fixture.makeWorker(transport: BrokenTransport(error: refused)).sendNext()
        #expect(try await fixture.rows().map(\.status) == ["pending"])
        #expect(fixture.log.lines.contains { $0.hasPrefix("error mail server \(text), ") })
        try await fixture.waitUntilDue()
        try await fixture.work()
        #expect(try await fixture.arrived().count == 1)
    }

    @Test func `credentials that can't be checked now are logged as any other delay`() async throws {
        try await fixture.enqueue("password_changed", to: "kim@example.com")
        let later = BrokenTransport(error: MailTransportError(.notAuthenticated, reply: 454))
        _ = try await fixture.makeWorker(transport: later).sendNext()
        #expect(try await fixture.rows().map(\.error) == ["smtp_454"])
        #expect(!fixture.log.lines.contains { $0.hasPrefix("error ") }, "\(fixture.log.lines)")
    }

    @Test func `a process without the code's key leaves the mail to one that has it`() async throws {
        try await fixture.addCode(to: "kim@example.com")
        let other = EmailCodes(keyRing: try SignInFixture.makeKeyRing(id: "k2", octet: 8))
        #expect(try await fixture.makeWorker(codes: other).sendNext())
        #expect(try await fixture.rows().map(\.error) == ["key_missing"])
        try await fixture.waitUntilDue()
        try await fixture.work()
        #expect(try await fixture.arrived().count == 1)
    }

    @Test func `a mail of a newer version waits for one that knows it, and not for ever`() async throws {
        try await fixture.enqueue("birthday", to: "kim@example.com")
        #expect(try await fixture.work() == 1)
        #expect(try await fixture.rows().map(\.error) == ["no_template"])
        fixture.clock.advance(by: Lifetimes.noticeSeconds)
        #expect(try await fixture.work() == 1)
        try await fixture.expectGivenUp("expired")
        #expect(try await fixture.arrived().isEmpty)
    }

    @Test func `a code for what only a newer version knows waits for one that does`() async throws {
        for address in ["kim@example.com", "ada@example.com"] { try await fixture.addCode(to: address) }
        try await fixture.database.execute("ALTER TABLE mailed_codes DROP CONSTRAINT mailed_codes_purpose_known")
        try await fixture.database.execute("UPDATE mailed_codes SET purpose = 'invite'")
        try await fixture.database.execute(
            "UPDATE outbox SET template = 'invite_code' WHERE recipient = 'kim@example.com'")
        #expect(try await fixture.work() == 2)
        let rows = try await fixture.rows()
        #expect(rows.map(\.status) == ["pending", "pending"])
        #expect(rows.map(\.error) == ["no_template", "no_template"])
        #expect(rows.compactMap(\.recipient).sorted() == ["ada@example.com", "kim@example.com"])
        #expect(try await fixture.arrived().isEmpty)

        try await fixture.database.execute("UPDATE mailed_codes SET purpose = 'signIn'")
        try await fixture.database.execute("UPDATE outbox SET template = 'sign_in_code'")
        fixture.clock.advance(by: 2)
        #expect(try await fixture.work() == 2)
        #expect(try await fixture.arrived().flatMap(\.recipients).sorted() == ["ada@example.com", "kim@example.com"])
    }

    @Test func `a language that is no longer there is replaced by the usual one`() async throws {
        try await fixture.enqueue("password_changed", to: "kim@example.com", in: "tlh")
        try await fixture.work()
        #expect(try await fixture.arrived().first?.header("Content-Language") == "en")
    }

    // MARK: Several workers

    @Test func `many workers send each mail once`() async throws {
        for number in 0..<30 { try await fixture.enqueue("password_changed", to: "kim-\(number)@example.com") }
        let counts = try await concurrently(0..<6) { _ in try await fixture.work() }
        #expect(counts.reduce(0, +) == 30)
        let recipients = try await fixture.arrived().flatMap(\.recipients)
        #expect(recipients.count == 30)
        #expect(Set(recipients).count == 30)
        #expect(try await fixture.rows().isEmpty)
    }

    @Test func `what a dead process had claimed is free again when no attempt can last any more`() async throws {
        try await fixture.enqueue("password_changed", to: "kim@example.com")
        let limits = SMTPTransport.Configuration()
        #expect(Duration.seconds(MailWorker.lease) > limits.timeout + limits.answerTimeout + .seconds(10))
        #expect(try await fixture.claim()?.attempt == 1)
        // The process dies here. One whose clock is ahead waits as long as any other.
        fixture.clock.advance(by: 3_600)
        try await fixture.storage.age(claimsBy: MailWorker.lease - 15)
        #expect(try await fixture.work() == 0)
        try await fixture.storage.age(claimsBy: 15)
        #expect(try await fixture.work() == 1)
        #expect(try await fixture.arrived().count == 1)
    }

    @Test func `while a mail is on its way nobody else takes it`() async throws {
        try await fixture.enqueue("password_changed", to: "kim@example.com")
        let probe = ProbingTransport { try await fixture.makeWorker().sendNext() }
        #expect(try await fixture.makeWorker(transport: probe).sendNext())
        #expect(await probe.answers() == [false])
        #expect(try await fixture.rows().isEmpty)
    }

    @Test func `who has lost a claim writes nothing about it`() async throws {
        try await fixture.enqueue("password_changed", to: "kim@example.com")
        let store = fixture.storage.mails
        let slow = try #require(try await fixture.claim())
        try await fixture.storage.age(claimsBy: MailWorker.lease)
        let quick = try #require(try await fixture.claim())
        let before = try await fixture.rows()
        let now = fixture.clock.now()
        try await store.postpone(slow, error: "late", until: now)
        try await store.giveUp(slow, error: "late", by: .at(now))
        try await store.delete(slow)
        #expect(try await fixture.rows() == before)
        try await store.giveUp(quick, error: "smtp_550", by: .at(now))
        try await store.delete(quick)
        #expect(try await fixture.rows().map(\.status) == ["failed"])
    }

    // MARK: Beside the revocations

    @Test func `mails and revocations are counted and swept apart`() async throws {
        let start = fixture.clock.now()
        for _ in 0..<2 { try await fixture.enqueue("password_changed", to: "rcpt-550@example.com") }
        _ = try await fixture.database.execute(
            """
            INSERT INTO outbox (message_id, kind, provider, realm, subject, next_attempt_at, created_at)
            VALUES (\(RevocationID(now: start)), 'revocation', 'apple', 'main', '001.a', \(start), \(start))
            """)
        let backlog = try await fixture.storage.mails.backlog(at: fixture.clock.now())
        #expect(backlog.pending == 2)
        #expect(backlog.oldest == start)
        #expect(try await fixture.storage.revocations.backlog().pending == 1)
        // Each claims its own.
        let revocations = try await fixture.storage.revocations.claim(at: .apple, by: .at(start), lease: 30, limit: 8)
        #expect(revocations.work.count == 1)
        for revocation in revocations.work {
            try await fixture.storage.revocations.release(revocation, error: "http_503")
        }
        _ = try await fixture.makeWorker().sendNext()
        #expect(try await fixture.storage.mails.backlog(at: fixture.clock.now()).pending == 1)
        #expect(try await fixture.work() == 1)
        #expect(try await fixture.storage.revocations.backlog().pending == 1)
        try await fixture.enqueue("password_changed", to: "rcpt-550@example.com")

        // Two have failed; the third was never sent, and fails an hour after it expired.
        let sweeper = fixture.storage.sweeper(clock: fixture.clock, logger: fixture.log.logger)
        fixture.clock.advance(by: Lifetimes.noticeSeconds + 3_600)
        #expect(try await sweeper.sweep() == 0)
        #expect(try await fixture.storage.mails.backlog(at: fixture.clock.now()).pending == 1)
        fixture.clock.advance(by: 1)
        #expect(try await sweeper.sweep() == 1)
        #expect(try await fixture.storage.mails.backlog(at: fixture.clock.now()).failed == 3)
        #expect(fixture.log.lines.contains("error mails given up count=1 error=expired"))
        let rows = try await fixture.rows()
        #expect(rows.allSatisfy { $0.recipient == nil })
        #expect(rows.compactMap(\.error).sorted() == ["expired", "http_503", "smtp_550", "smtp_550"])
        fixture.clock.advance(by: 30 * 86_400 - 3_601)
        #expect(try await sweeper.sweep() == 0)
        fixture.clock.advance(by: 1)
        #expect(try await sweeper.sweep() == 3)
        #expect(try await fixture.rows().map(\.error) == ["http_503"])
    }

    @Test func `an expired mail that a process is at is left to it`() async throws {
        try await fixture.enqueue("password_changed", to: "kim@example.com")
        _ = try #require(try await fixture.claim())
        fixture.clock.advance(by: Lifetimes.noticeSeconds + 3_601)
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        #expect(try await sweeper.sweep() == 0)
        try await fixture.storage.age(claimsBy: MailWorker.lease)
        #expect(try await sweeper.sweep() == 1)
        try await fixture.expectGivenUp("expired")
    }

    // MARK: Secrets

    @Test func `neither log nor outbox holds a code or an address that has been dealt with`() async throws {
        var digits: [String] = []
        for address in ["kim@example.com", "rcpt-550@example.com", "rcpt-450@example.com", "nobody@example.com"] {
            if address != "nobody@example.com" { try await fixture.addAccount(address) }
            let code = try await fixture.issue(.signIn, to: address)
            digits.append(try #require(fixture.codes.digits(of: code)))
        }
        try await fixture.work()
        #expect(try await fixture.arrived().count == 1)
        // Ids and times are digits too.
        func words(_ text: String) -> String {
            text.replacing(/[0-9a-f]{8}-[-0-9a-f]{27}|[-0-9]+T[-0-9:.+Z]+/, with: "")
        }
        let lines = fixture.log.lines.map(words)
        #expect(lines.count >= 3)
        for line in lines {
            #expect(!line.contains("example.com"), "\(line)")
            for digits in digits { #expect(!line.contains(digits), "\(line)") }
        }
        let rows = try await fixture.database.query("SELECT to_jsonb(o)::text FROM outbox o", as: String.self)
        #expect(rows.count == 2)
        for row in rows.map(words) {
            for digits in digits { #expect(!row.contains(digits), "\(row)") }
        }
        #expect(try await fixture.rows().map(\.recipient).compactMap(\.self) == ["rcpt-450@example.com"])
    }
}

/// A transport that runs a probe in place of sending.
private actor ProbingTransport: MailTransport {
    private let probe: @Sendable () async throws -> Bool
    private var found: [Bool] = []

    init(_ probe: @escaping @Sendable () async throws -> Bool) { self.probe = probe }

    func send(_ mail: OutgoingMail) async throws(MailTransportError) {
        if let answer = try? await probe() { found.append(answer) }
    }

    func answers() -> [Bool] { found }
}
