import Curl
import Foundation
import TestSupport
import Testing

extension OutgoingMail {
    static func sample(
        from sender: String = "lamp@example.com", to recipient: String = "kim@example.com",
        _ content: String = "Subject: lamp\r\n\r\nIt is on.\r\n"
    ) -> OutgoingMail { OutgoingMail(sender: sender, recipient: recipient, content: Array(content.utf8)) }
}

extension SMTPTransport.Configuration {
    /// A configuration with long timeouts, so that only a test of a timeout runs into one, however busy the machine is.
    static func forTests(trusting authority: String? = nil) -> Self {
        var configuration = Self()
        configuration.connectTimeout = .seconds(50)
        configuration.timeout = .seconds(50)
        configuration.answerTimeout = .seconds(50)
        configuration.caBundlePath = authority
        return configuration
    }
}

extension SMTPTransport {
    /// The error of sending this mail, if there is one.
    func failure(_ mail: OutgoingMail) async -> MailTransportError? {
        do {
            try await send(mail)
            return nil
        } catch { return error }
    }
}

/// Mail to a real mail server.
@Suite(.timeLimit(.minutes(5))) struct SMTPTests {
    private static let password = "p@ss: w/rd%"
    private static let login = "lamp:\(password)"
    private static let credentials = "lamp:p%40ss%3A%20w%2Frd%25"

    /// A server of the tests is on this machine, where a password could go without TLS.
    private static func server(
        _ scheme: String = "smtp", at port: UInt16, credentials: String = credentials,
        security: SMTPServer.Security = .startTLS
    ) throws -> SMTPServer {
        var server = try #require(SMTPServer("\(scheme)://\(credentials)@127.0.0.1:\(port)/lamp.example.com"))
        server.security = security
        return server
    }

    @Test func `a mail arrives as it was sent, from and to whom the envelope says`() async throws {
        try await MailServer.run { peer in
            let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
            let transport = SMTPTransport(server: server, configuration: .forTests())
            // Dots that begin a line, one alone in its line, and no line break at the end: SMTP has its own ideas of
            // each.
            let content = "Subject: dots\r\n\r\n.\r\n..\r\n.one\r\n\r\n.\r\nthe end"
            try await transport.send(.sample(content))
            let message = try #require(await peer.messages(1).first)
            #expect(message.sender == "lamp@example.com")
            #expect(message.recipients == ["kim@example.com"])
            #expect(!message.isEncrypted)
            #expect(String(decoding: message.content, as: UTF8.self) == content + "\r\n")
        }
    }

    @Test func `user and password go over STARTTLS, to a server whose certificate proves it`() async throws {
        try await MailServer.run(.startTLS, login: Self.login) { peer in
            let transport = SMTPTransport(
                server: try Self.server(at: peer.port), configuration: .forTests(trusting: peer.authority))
            try await transport.send(.sample())
            let message = try #require(await peer.messages(1).first)
            #expect(message.isEncrypted)
            #expect(message.isAuthenticated)
        }
    }

    @Test func `the same over TLS from the first byte`() async throws {
        try await MailServer.run(.tls, login: Self.login) { peer in
            let transport = SMTPTransport(
                server: try Self.server("smtps", at: peer.port, security: .tls),
                configuration: .forTests(trusting: peer.authority))
            try await transport.send(.sample())
            let message = try #require(await peer.messages(1).first)
            #expect(message.isEncrypted)
            #expect(message.isAuthenticated)
        }
    }

    @Test(arguments: [MailServer.Security.startTLS, .tls])
    func `a certificate without a trusted authority ends it before the password`(
        security: MailServer.Security
    ) async throws {
        try await MailServer.run(security, login: Self.login) { peer in
            let server =
                security == .tls
                ? try Self.server("smtps", at: peer.port, security: .tls) : try Self.server(at: peer.port)
            let transport = SMTPTransport(server: server, configuration: .forTests())
            #expect(await transport.failure(.sample()) == MailTransportError(.tls))
        }
    }

    @Test func `a certificate for another name proves nothing`() async throws {
        try await MailServer.run(.startTLS, login: Self.login) { peer in
            // Trusted, and for 127.0.0.1.
            var server = try #require(SMTPServer("smtp://\(Self.credentials)@localhost:\(peer.port)"))
            server.security = .startTLS
            let transport = SMTPTransport(server: server, configuration: .forTests(trusting: peer.authority))
            #expect(await transport.failure(.sample()) == MailTransportError(.tls))
            #expect(peer.messages.isEmpty)
        }
    }

    @Test func `a wrong password is this service's fault and not the mail's`() async throws {
        try await MailServer.run(.startTLS, login: Self.login) { peer in
            let transport = SMTPTransport(
                server: try Self.server(at: peer.port, credentials: "lamp:canary"),
                configuration: .forTests(trusting: peer.authority))
            let error = try #require(await transport.failure(.sample()))
            #expect(error == MailTransportError(.notAuthenticated, reply: 535))
            #expect(!error.isPermanent)
            #expect(!"\(error) \(String(reflecting: error)) \(transport)".contains("canary"))
            #expect(peer.messages.isEmpty)
        }
    }

    @Test func `an address beyond ASCII is announced to a server that can take it`() async throws {
        try await MailServer.run { peer in
            let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
            let transport = SMTPTransport(server: server, configuration: .forTests())
            try await transport.send(.sample(to: "kübra@example.com"))
            let message = try #require(await peer.messages(1).first)
            #expect(message.recipients == ["kübra@example.com"])
            #expect(message.options.contains("SMTPUTF8"))
            // And is not asked for where it isn't needed.
            try await transport.send(.sample())
            #expect(await peer.messages(2).last?.options.contains("SMTPUTF8") == false)
        }
    }

    @Test(
        arguments: [
            ("rcpt-550", .refused, "smtp_550"), ("rcpt-450", .recipientPostponed, "rcpt_450"),
            ("data-554", .refused, "smtp_554"), ("data-451", .postponed, "smtp_451"),
        ] as [(String, MailTransportError.Code, String)])
    func `a refusal is for good or for now, of the recipient or the mail, as its reply says`(
        local: String, code: MailTransportError.Code, reason: String
    ) async throws {
        try await MailServer.run { peer in
            let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
            let transport = SMTPTransport(server: server, configuration: .forTests())
            let error = try #require(await transport.failure(.sample(to: "\(local)@example.com")))
            #expect(error.code == code)
            #expect(error.isPermanent == (code == .refused))
            #expect(error.reasonCode == reason)
            // The server quotes the recipient.
            #expect(!"\(error) \(String(reflecting: error))".contains("example.com"))
        }
    }

    @Test func `mails that are sent at once all arrive`() async throws {
        try await MailServer.run { peer in
            let server = try #require(SMTPServer("smtp://127.0.0.1:\(peer.port)"))
            let transport = SMTPTransport(server: server, configuration: .forTests())
            try await concurrently(0..<8) { number in
                try await transport.send(.sample(to: "kim-\(number)@example.com"))
            }
            let recipients = await peer.messages(8).flatMap(\.recipients)
            #expect(Set(recipients).count == 8)
        }
    }
}
