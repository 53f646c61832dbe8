import Foundation
import Postgres
import TestSupport
import Testing

/// Codes by mail, from the request through a mail server to the session.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct MailTests {
    private static let password = "canary horse battery"
    private static let smtpPassword = "canary-smtp-password"

    private static func run(
        _ settings: Countersign.Settings = [:], _ body: (World, MailServer) async throws -> Void
    ) async throws {
        try await MailServer.run(login: "lamp:\(smtpPassword)") { peer in
            let mail: Countersign.Settings = [
                "mail.smtpUrl": "smtp://lamp:\(smtpPassword)@127.0.0.1:\(peer.port)", "mail.from": "lamp@example.com",
                "mail.serviceName": "Lamp", "log.level": "trace",
            ]
            try await World.run(mail.merging(settings) { _, own in own }) { world in try await body(world, peer) }
        }
    }

    private static func code(in message: MailServer.Message) throws -> String {
        let match = try #require(message.text?.firstMatch(of: /(?m)^    (\d{6})$/), "\(message.text ?? "")")
        return String(match.1)
    }

    private static func askForCode(_ world: World, _ email: String, language: String = "en") async throws -> Answer {
        try await world.service.post(
            "/v1/email-codes", ["email": .string(email), "purpose": "signIn"], headers: [("Accept-Language", language)])
    }

    @Test func `a code that was asked for is in the mailbox, and signs in once`() async throws {
        try await Self.run { world, peer in
            _ = try await world.register("kim@example.com", password: Self.password)
            let answers = [
                try await Self.askForCode(world, "nobody@example.com"),
                try await Self.askForCode(world, "kim@example.com", language: "de-AT,de;q=0.9"),
            ]
            #expect(answers.map(\.status) == [202, 202])
            #expect(Set(answers.map(\.withoutRequestID)).count == 1)

            let message = try #require(await peer.messages(1).first)
            #expect(message.recipients == ["kim@example.com"])
            #expect(message.isAuthenticated)
            #expect(message.header("Subject") == "Ihr Anmeldecode für Lamp")
            #expect(message.header("From") == "Lamp <lamp@example.com>")
            let code = try Self.code(in: message)
            let attempt: TokenMint.Members = ["email": "kim@example.com", "code": .string(code)]
            try await world.service.post("/v1/sign-in/email-code", attempt.with("code", "x23456")).expecting(401)
            try await eventually("its count") {
                try await world.service.metric("countersign_wrong_guesses_total", #"kind="email_code""#) == 1
            }
            try await world.service.post("/v1/sign-in/email-code", attempt).expecting(200)
            #expect(try await world.service.post("/v1/sign-in/email-code", attempt).status == 401)

            // The row of the unknown address is gone like the other, and nothing was sent for it.
            try await eventually("an empty outbox") {
                try await world.count("SELECT count(*) FROM outbox WHERE template = 'sign_in_code'") == 0
            }
            // It is counted after its row is deleted.
            try await eventually("its count") {
                try await world.service.metric("countersign_mails_total", #"outcome="dropped""#) == 1
            }
            #expect(!peer.messages.contains { $0.recipients == ["nobody@example.com"] })

            try await eventually("the log line of the mail") { world.service.log.contains("mail sent") }
            let log = world.service.log.replacing(/[0-9a-f]{8}-[-0-9a-f]{27}|[-0-9]+T[-0-9:.]+Z/, with: "")
            for secret in [code, Self.smtpPassword, Self.password, "kim@example.com"] {
                #expect(!log.contains(secret), "\(secret) is in the log")
            }
            let page = try await world.service.privateGet("/metrics").text
            #expect(page.contains("countersign_mail_send_seconds_count "))
        }
    }
}
