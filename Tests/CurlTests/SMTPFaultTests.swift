import Curl
import TestSupport
import Testing

/// Mail to a server that misbehaves.
@Suite(.timeLimit(.minutes(5))) struct SMTPFaultTests {
    private static func failure(
        _ replies: [String: ScriptedMailServer.Reply], mail: OutgoingMail = .sample(), timeout: Duration? = nil,
        security: SMTPServer.Security = .none, user: String = ""
    ) async throws -> (error: MailTransportError, lines: [String]) {
        let peer = try ScriptedMailServer(replies)
        var server = try #require(SMTPServer("smtp://\(user)127.0.0.1:\(peer.port)"))
        server.security = security
        var configuration = SMTPTransport.Configuration.forTests()
        if let timeout { (configuration.timeout, configuration.answerTimeout) = (timeout, timeout) }
        let transport = SMTPTransport(server: server, configuration: configuration)
        return (try #require(await transport.failure(mail)), peer.lines)
    }

    @Test(
        arguments: [
            ("greeting", "554 go away", .notServed, 554), ("greeting", "421 not now", .notServed, 421),
            ("MAIL", "553 whose?", .refused, 553), ("MAIL", "530 log in first", .notAuthenticated, 530),
            ("RCPT", "535 no", .notAuthenticated, 535), ("MAIL", "452 full", .postponed, 452),
            ("RCPT", "551 moved", .refused, 551), ("RCPT", "450 greylisted", .recipientPostponed, 450),
            ("DATA", "503 no", .refused, 503), ("DATA", "451 later", .postponed, 451),
            (".", "554 spam", .refused, 554), (".", "452 full", .postponed, 452),
            // The server is shutting down, whatever the command.
            ("RCPT", "421 shutting down", .postponed, 421), ("RCPT", "421 4.2.0 shutting down", .postponed, 421),
            // Of the recipient: the domain, the mailbox, the way there.
            ("RCPT", "450 4.1.2 domain not found", .recipientPostponed, 450),
            ("RCPT", "450 4.1.10 null MX", .recipientPostponed, 450),
            ("RCPT", "450 4.2.0 greylisted", .recipientPostponed, 450),
            ("RCPT", "452-4.2.2 full\r\n452 4.2.2 up to the brim", .recipientPostponed, 452),
            ("RCPT", "451 4.4.1 no answer from host", .recipientPostponed, 451),
            ("RCPT", "450", .recipientPostponed, 450), ("RCPT", "452 full", .recipientPostponed, 452),
            // Of the sender, the server, or its policy: Postfix says so no sooner.
            ("RCPT", "454 4.7.1 relay access denied", .postponed, 454), ("RCPT", "454 4.2.0 no", .postponed, 454),
            ("RCPT", "450 4.7.1 client host rejected", .postponed, 450),
            ("RCPT", "450 4.1.8 sender domain not found", .postponed, 450),
            ("RCPT", "451 4.3.0 lookup failure", .postponed, 451), ("RCPT", "451 4.4.5 congested", .postponed, 451),
            ("RCPT", "451 later", .postponed, 451), ("RCPT", "452 4.3.1 disk full", .postponed, 452),
        ] as [(String, String, MailTransportError.Code, Int)])
    func `what the server said last decides`(
        verb: String, text: String, code: MailTransportError.Code, reply: Int
    ) async throws {
        let (error, _) = try await Self.failure([verb: .say(text)])
        #expect(error == MailTransportError(code, reply: reply))
        #expect(error.isPermanent == (code == .refused))
    }

    @Test(arguments: ["greeting", "EHLO", "MAIL", "RCPT", "DATA", "."])
    func `a connection that is lost is no refusal`(verb: String) async throws {
        let (error, _) = try await Self.failure([verb: .drop])
        #expect(!error.isPermanent)
        #expect(error.reply == nil)
        #expect([.closed, .other].contains(error.code), "\(String(reflecting: error))")
    }

    @Test(arguments: ["greeting", "EHLO", "MAIL", "RCPT", "DATA", "."])
    func `a server that says nothing is left when the time is over`(verb: String) async throws {
        let clock = ContinuousClock()
        let started = clock.now
        let (error, _) = try await Self.failure([verb: .silence], timeout: .milliseconds(500))
        // A message that was offered may have been taken.
        #expect(error == MailTransportError(verb == "." ? .timedOutAfterData : .timedOut))
        #expect(!error.isPermanent)
        #expect(started.duration(to: clock.now) >= .milliseconds(500))
    }

    @Test func `the answer to a message may take longer than all before it`() async throws {
        // A machine that pauses may be late to offer it.
        let isTaken = try await onceOfThree {
            let peer = try ScriptedMailServer([".": .late("250 taken", after: .seconds(6))])
            let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
            var configuration = SMTPTransport.Configuration.forTests()
            configuration.timeout = .seconds(5)
            return await SMTPTransport(server: server, configuration: configuration).failure(.sample()) == nil
        }
        #expect(isTaken)
    }

    @Test func `a refusal stays one when the server then doesn't answer QUIT`() async throws {
        // A machine that pauses may be late for the refusal.
        let isRefused = try await onceOfThree {
            let (error, lines) = try await Self.failure(
                ["RCPT": .say("551 moved"), "QUIT": .silence], timeout: .seconds(5))
            #expect(lines.contains("QUIT"))
            return error == MailTransportError(.refused, reply: 551)
        }
        #expect(isRefused)
    }

    @Test func `a server that never ends its reply is left at once`() async throws {
        let (error, _) = try await Self.failure(["EHLO": .flood])
        // libcurl counts what it is sent, and gives up before the time does.
        #expect([.closed, .other].contains(error.code))
        #expect(!error.isPermanent)
    }

    @Test func `a QUIT that isn't answered delays no other mail`() async throws {
        let peer = try ScriptedMailServer(["QUIT": .silence])
        let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
        var configuration = SMTPTransport.Configuration.forTests()
        configuration.maximumInFlight = 1
        let transport = SMTPTransport(server: server, configuration: configuration)
        // Each needs the permit of the one before, and this server accepts one client after the other: it waits for the
        // end of a connection. libcurl alone would wait for two minutes.
        let started = ContinuousClock.now
        for number in 1...3 {
            let mail = OutgoingMail.sample(to: "kim-\(number)@example.com")
            while let error = await transport.failure(mail) {
                #expect(error.code == .busy)
                await Task.yield()
            }
        }
        #expect(started.duration(to: .now) < .seconds(100))
        #expect(peer.lines.count { $0 == "." } == 3)
        #expect(peer.lines.contains("QUIT"))
    }

    @Test func `nothing is said before STARTTLS to a server that doesn't offer it`() async throws {
        let (error, lines) = try await Self.failure([:], security: .startTLS, user: "lamp:canary@")
        #expect(error == MailTransportError(.tls))
        #expect(!error.isPermanent)
        let verbs = lines.map { $0.prefix { $0 != " " } }
        #expect(Set(verbs).isSubset(of: ["EHLO", "HELO", "STARTTLS", "QUIT"]), "\(lines)")
    }

    @Test func `STARTTLS that is offered and then refused is the end`() async throws {
        let (error, lines) = try await Self.failure(
            ["EHLO": .say("250-scripted\r\n250 STARTTLS"), "STARTTLS": .say("454 not today")], security: .startTLS,
            user: "lamp:canary@")
        #expect(error == MailTransportError(.tls))
        #expect(!lines.contains { $0.hasPrefix("MAIL") || $0.hasPrefix("AUTH") }, "\(lines)")
    }

    @Test func `a server without a supported mechanism gets neither password nor mail`() async throws {
        let (error, lines) = try await Self.failure(
            ["EHLO": .say("250-scripted\r\n250 AUTH NTLM GSSAPI DIGEST-MD5"), "MAIL": .say("530 log in first")],
            user: "lamp:canary@")
        // Not a failure of the mail: it is tried again.
        #expect(error.code == .notAuthenticated)
        #expect(!error.isPermanent)
        #expect(!lines.contains { $0.hasPrefix("AUTH") || $0.hasPrefix("RCPT") }, "\(lines)")
    }

    /// A port for other servers, where an address of its own domains would be taken and any other refused.
    @Test(arguments: ["250 ok", "554 relay access denied"])
    func `a server that offers no authentication gets no mail of a user's`(reply: String) async throws {
        let (error, lines) = try await Self.failure(["MAIL": .say(reply)], user: "lamp:canary@")
        #expect(error.code == .notAuthenticated)
        #expect(!error.isPermanent)
        #expect(!lines.contains { $0.hasPrefix("RCPT") || $0.hasPrefix("DATA") }, "\(lines)")
    }

    @Test func `a greeting is for nothing where user and password are not asked for`() async throws {
        let peer = try ScriptedMailServer(["NOOP": .say("250 ok")])
        for (user, isFailure) in [("", false), ("lamp:canary@", true)] {
            let server = try #require(SMTPServer("smtp://\(user)127.0.0.1:\(peer.port)"))
            let transport = SMTPTransport(server: server, configuration: .forTests())
            var failure: MailTransportError?
            do { try await transport.greet(for: "lamp@example.com") } catch { failure = error }
            #expect(failure == (isFailure ? MailTransportError(.notAuthenticated) : nil))
        }
    }

    @Test func `user and password that can't be checked now are named by the reply to them`() async throws {
        let (error, lines) = try await Self.failure(
            ["EHLO": .say("250-scripted\r\n250 AUTH PLAIN"), "AUTH": .say("454 not now")], user: "lamp:canary@")
        #expect(error == MailTransportError(.notAuthenticated, reply: 454))
        #expect(!lines.contains { $0.hasPrefix("MAIL") }, "\(lines)")
    }

    @Test(arguments: [("kübra@example.com", "lamp@example.com"), ("kim@example.com", "lämp@example.com")])
    func `an address beyond ASCII goes to no server without SMTPUTF8`(to: String, from: String) async throws {
        // It would take the address, as many do, and cut or garble it.
        let (error, lines) = try await Self.failure([:], mail: .sample(from: from, to: to))
        #expect(error == MailTransportError(.internationalAddress))
        #expect(error.isPermanent)
        #expect(!lines.contains("It is on."), "\(lines)")
    }

    @Test(
        arguments: [
            "kim@example.com>\r\nRCPT TO:<ada@example.com", "kim@example.com\nDATA", "kim@example.com\r",
            "kim @example.com",
            "<kim@example.com>", "kim@example.com> SIZE=1", "kim@exam\u{0}ple.com", "kim", "",
            String(repeating: "k", count: 251) + "@a.b",
        ])
    func `an address that could be more than one is sent nowhere`(address: String) async throws {
        let peer = try ScriptedMailServer()
        let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
        let transport = SMTPTransport(server: server, configuration: .forTests())
        for mail in [OutgoingMail.sample(to: address), .sample(from: address)] {
            #expect(await transport.failure(mail) == MailTransportError(.invalidAddress))
        }
        #expect(peer.lines.isEmpty)
    }

    @Test func `a message that is too large is sent nowhere`() async throws {
        let peer = try ScriptedMailServer()
        let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
        var configuration = SMTPTransport.Configuration.forTests()
        configuration.maximumBytes = 1_000
        let transport = SMTPTransport(server: server, configuration: configuration)
        let header = "Subject: x\r\n\r\n"
        let fitting = header + String(repeating: "x", count: 1_000 - header.utf8.count)
        #expect(await transport.failure(.sample(fitting + "x")) == MailTransportError(.tooLarge))
        #expect(peer.lines.isEmpty)
        try await transport.send(.sample(fitting))
    }

    @Test func `no listener, and no such host`() async throws {
        let port = try ScriptedMailServer().port
        for (host, code) in [("127.0.0.1:\(port)", MailTransportError.Code.connect), ("nowhere.invalid", .resolve)] {
            let server = try #require(SMTPServer("smtp://\(host)"))
            let transport = SMTPTransport(server: server, configuration: .forTests())
            #expect(await transport.failure(.sample()) == MailTransportError(code))
        }
    }

    @Test func `more at once than allowed are refused, not queued`() async throws {
        let peer = try ScriptedMailServer(["greeting": .silence])
        let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
        var configuration = SMTPTransport.Configuration.forTests()
        configuration.timeout = .seconds(1)
        configuration.maximumInFlight = 2
        let transport = SMTPTransport(server: server, configuration: configuration)
        let codes = try await concurrently(0..<3) { _ in await transport.failure(.sample())?.code }
        #expect(codes.count { $0 == .busy } == 1)
        #expect(codes.count { $0 == .timedOut } == 2)
    }

    // MARK: URLs

    @Test(
        arguments: [
            "", "mail.example.com", "http://mail.example.com", "https://mail.example.com", "imap://mail.example.com",
            "smtp://", "smtp://mail.example.com/a b", "smtp://mail.example.com/a/b", "smtp://mail.example.com/?x=1",
            "smtp://mail.example.com/#x", "smtp://u:p%0D%0AQUIT@mail.example.com", "smtp://u%00:p@mail.example.com",
            "smtp://:p@mail.example.com", "smtp://u;AUTH=NTLM:p@mail.example.com",
            "smtp://mail.example.com\\@evil.example",
            "smtp://mail.example.com\r\n", "smtp://mäil.example.com", "smtp://mail.example.com:99999",
        ])
    func `what names no mail server is refused`(url: String) { #expect(SMTPServer(url) == nil) }

    @Test(
        arguments: [
            ("smtp://mail.example.com", .startTLS), ("smtp://mail.example.com:587/lamp.example.com", .startTLS),
            ("smtp://127.0.0.1.example.com", .startTLS), ("smtp://10.0.0.1", .startTLS), ("smtp://localhost", .none),
            ("smtp://127.1:25", .none), ("smtp://[::1]", .none), ("smtps://mail.example.com", .tls),
            ("smtps://localhost", .tls), ("SMTP://u:p@mail.example.com", .startTLS),
        ] as [(String, SMTPServer.Security)])
    func `mail goes unencrypted to this machine alone`(url: String, security: SMTPServer.Security) throws {
        #expect(try #require(SMTPServer(url)).security == security)
    }

    @Test func `a printed server shows neither user nor password`() throws {
        let server = try #require(SMTPServer("smtp://canary-u:canary-p@mail.example.com:587"))
        var dumped = ""
        dump(server, to: &dumped)
        let texts = [
            "\(server)", String(reflecting: server), "\([server])", "\(SMTPTransport(server: server))", dumped,
        ]
        for text in texts { #expect(!text.contains("canary"), "\(text)") }
        #expect("\(server)".contains("mail.example.com:587"))
    }
}
