import TestSupport
import Testing

@testable import countersign

/// What the doctor says of the mail server.
@Suite(.timeLimit(.minutes(3))) struct DoctorMailTests {
    private static func finding(
        _ url: String, from sender: String = "lamp@example.com", of server: MailServer
    ) async throws -> Finding {
        let setup = try ConfigurationSetup(["MAIL_SMTP_URL": "\(url):\(server.port)", "MAIL_FROM": sender])
        let findings = try await Doctor.with(setup.environment) { await $0.mail() }
        #expect(findings.count == 1)
        #expect(!findings.map(\.line).joined().contains("canary"))
        return try #require(findings.first)
    }

    @Test func `a mail server is greeted with the password, and gets no mail`() async throws {
        try await MailServer.run(login: "lamp:right") { server in
            for (password, status) in [("right", Finding.Status.ok), ("canary-password", .failure)] {
                let finding = try await Self.finding("smtp://lamp:\(password)@127.0.0.1", of: server)
                #expect(finding.status == status, "\(finding.line)")
            }
            #expect(server.messages.isEmpty)
        }
    }

    @Test func `a server for other servers is none for user and password`() async throws {
        try await MailServer.run(isForServers: true) { server in
            let finding = try await Self.finding("smtp://lamp:canary@127.0.0.1", of: server)
            #expect(finding.status == .failure)
            #expect(finding.detail.contains("offers no authentication"), "\(finding.line)")
            #expect(try await Self.finding("smtp://127.0.0.1", of: server).status == .ok)
        }
    }

    @Test(arguments: [true, false])
    func `a sender beyond ASCII needs a server that can take it`(isForServers: Bool) async throws {
        try await MailServer.run(isForServers: isForServers) { server in
            let finding = try await Self.finding("smtp://127.0.0.1", from: "lämp@example.com", of: server)
            #expect(finding.status == (isForServers ? .failure : .ok))
            #expect(finding.detail.contains("SMTPUTF8") == isForServers, "\(finding.line)")
        }
    }
}
