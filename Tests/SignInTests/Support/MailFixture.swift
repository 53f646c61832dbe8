import Accounts
import Curl
import Foundation
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The mail worker, over a database of its own and with a real mail server.
struct MailFixture: TestFixture {
    static let service = "Lamp & Söhne"
    static let sender = "lamp@auth.example.com"

    let clock = ManualClock(at: SignInFixture.start)
    let database: Database
    let peer: MailServer
    let storage: ServiceDatabase
    let codes: EmailCodes
    let log = RecordingLog()
    private let templates: MailTemplates

    static func run(_ body: (MailFixture) async throws -> Void) async throws {
        try await run(templates: MailTemplates(serviceName: service), body)
    }

    static func run(templates: MailTemplates, _ body: (MailFixture) async throws -> Void) async throws {
        try await MailServer.run { peer in
            try await ScratchDatabase.withMigratedPool { database in
                try await body(try MailFixture(database: database, peer: peer, templates: templates))
            }
        }
    }

    private init(database: Database, peer: MailServer, templates: MailTemplates) throws {
        self.database = database
        self.peer = peer
        self.templates = templates
        let keyRing = try SignInFixture.makeKeyRing()
        storage = ServiceDatabase(database, keyRing: keyRing)
        codes = EmailCodes(keyRing: keyRing)
    }

    static func transport(to peer: MailServer) throws -> SMTPTransport {
        let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
        var configuration = SMTPTransport.Configuration()
        // Runs into a timeout only where a test wants one, however busy the machine is.
        (configuration.connectTimeout, configuration.timeout) = (.seconds(50), .seconds(50))
        return SMTPTransport(server: server, configuration: configuration)
    }

    /// A worker, if need be with another transport, in a process with another key ring, or of another service.
    func makeWorker(
        transport: (any MailTransport)? = nil, codes: EmailCodes? = nil, templates: MailTemplates? = nil,
        hold: @escaping @Sendable (Duration) async -> Void = { _ in }
    ) throws -> MailWorker {
        MailWorker(
            store: storage.mails, transport: try transport ?? Self.transport(to: peer),
            templates: templates ?? self.templates, sender: try #require(EmailAddress(Self.sender)),
            codes: codes ?? self.codes, allowsNotice: { _, _ in true }, hold: hold, clock: clock,
            logger: log.logger)
    }

    // MARK: Queueing

    func addAccount(_ email: String?, proof: EmailProof = .proven, pending: String? = nil) async throws {
        _ = try await database.execute(
            """
            INSERT INTO accounts (account_id, email, email_verified, email_proof, pending_email,
                pending_email_expires_at, created_at)
            VALUES (\(AccountID(now: clock.now())), \(email), \(proof > .claimed), \(proof.rawValue), \(pending),
                \(pending.map { _ in clock.now().advanced(bySeconds: 86_400) }), \(clock.now()))
            """)
    }

    /// Makes a code the live one, and queues its mail; within a minute of another one none is.
    @discardableResult
    func issue(
        _ purpose: EmailCodePurpose, to address: String, in language: String = "en", from caller: Caller = .local,
        _ allowance: EmailCodeAllowance = .full
    ) async throws -> EmailCode {
        let isOfTicket = purpose == .bind || purpose == .register
        let call = Call(now: clock.now(), origin: ChangeOrigin(actor: .person, requestID: "asked"), caller: caller)
        let request = try codes.request(
            for: try #require(EmailAddress(address)), purpose: purpose,
            ticketHash: isOfTicket ? SecretHash([UInt8](repeating: 1, count: 32)) : nil, network: caller.network,
            language: language, by: call)
        _ = try await storage.emailCodes.request(request, allowance: allowance, by: call)
        return request.code
    }

    /// Has a code mailed to an account that is made for it.
    func addCode(_ purpose: EmailCodePurpose = .signIn, to address: String) async throws {
        try await addAccount(address)
        try await issue(purpose, to: address)
    }

    /// Mistypes a code until its network may try no more: the next one that is issued takes its place.
    func useUpTries(of code: EmailCode) async throws {
        let attempt = EmailCodeAttempt(
            email: code.email, purpose: code.purpose, ticketHash: nil, network: nil, account: nil)
        for _ in 0..<5 { _ = try await storage.emailCodes.attempt(attempt, by: .at(clock.now())) { _ in false } }
    }

    /// Queues a notice as the stores do.
    func enqueue(
        _ template: String, to address: String, in language: String = "en", provider: Provider? = nil
    ) async throws {
        let now = clock.now()
        _ = try await database.execute(
            """
            INSERT INTO outbox (message_id, kind, template, recipient, language, provider, expires_at, next_attempt_at,
                created_at)
            VALUES (\(MailID(now: now)), 'mail', \(template), \(address), \(language), \(provider?.rawValue),
                \(now.advanced(bySeconds: Lifetimes.noticeSeconds)), \(now), \(now))
            """)
    }

    // MARK: Sending

    /// Sends, drops or postpones each mail that is due.
    ///
    /// - Returns: the number of mails that were due.
    @discardableResult
    func work() async throws -> Int {
        let worker = try makeWorker()
        var count = 0
        while try await worker.sendNext() { count += 1 }
        return count
    }

    /// Takes the next mail that is due, as a worker does.
    func claim() async throws -> ClaimedMail? {
        try await storage.mails.claim(by: .at(clock.now()), lease: MailWorker.lease).work.first
    }

    /// The mail of a notice that is queued now.
    func arrival(
        of template: String, to address: String = "kim@example.com", in language: String = "en"
    ) async throws -> MailServer.Message {
        try await enqueue(template, to: address, in: language)
        try await work()
        return try #require(try await arrived().last)
    }

    /// The messages that have arrived. A marker is sent last, so that none is still on its way.
    func arrived() async throws -> [MailServer.Message] {
        let mark = "mark-\(UUID().uuidString.lowercased())@example.com"
        try await Self.transport(to: peer).send(
            OutgoingMail(sender: Self.sender, recipient: mark, content: Array("Subject: mark\r\n\r\n".utf8)))
        var count = 1
        while true {
            let messages = await peer.messages(count)
            if messages.contains(where: { $0.recipients == [mark] }) {
                return messages.filter { !$0.recipients.allSatisfy { $0.hasPrefix("mark-") } }
            }
            count = messages.count + 1
        }
    }

    struct Row: Sendable, Equatable {
        var status: String
        var attempts: Int32
        var failures: Int32
        var recipient: String?
        var error: String?
        var isClaimed: Bool
        var nextAttemptAt: Timestamp
    }

    func rows() async throws -> [Row] {
        try await database.query(
            """
            SELECT status, attempts, failures, recipient, last_error, claimed_until IS NOT NULL, next_attempt_at
            FROM outbox
            ORDER BY message_id
            """
        ) { row throws(PostgresError) in
            let (status, attempts, failures, recipient, error, isClaimed, next) = try row.decode(
                String.self, Int32.self, Int32.self, String?.self, String?.self, Bool.self, Timestamp.self)
            return Row(
                status: status, attempts: attempts, failures: failures, recipient: recipient, error: error,
                isClaimed: isClaimed, nextAttemptAt: next)
        }
    }

    /// Expects the only mail to have been given up, and whom it was for to be erased.
    func expectGivenUp(_ error: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let row = try #require(try await rows().first, sourceLocation: sourceLocation)
        #expect([row.status, row.error, row.recipient] == ["failed", error, nil], sourceLocation: sourceLocation)
        #expect(!row.isClaimed, sourceLocation: sourceLocation)
        let askers = try await database.count("outbox WHERE asked_from IS NOT NULL")
        #expect(askers == 0, sourceLocation: sourceLocation)
    }

    /// Advances the clock until the only mail is due.
    func waitUntilDue() async throws {
        guard let next = try await rows().first?.nextAttemptAt else { return }
        clock.set(to: next.microseconds % 1_000_000 == 0 ? next.seconds : next.seconds + 1)
    }
}

/// A transport by which mails arrive, but which loses the server's reply.
struct LostReplyTransport: MailTransport {
    let transport: any MailTransport

    func send(_ mail: OutgoingMail) async throws(MailTransportError) {
        try await transport.send(mail)
        throw MailTransportError(.closed)
    }
}

/// A transport that always fails.
struct BrokenTransport: MailTransport {
    let error: MailTransportError

    func send(_ mail: OutgoingMail) async throws(MailTransportError) { throw error }
}
