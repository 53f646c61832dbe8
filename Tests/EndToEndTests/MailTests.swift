import Foundation
import Postgres
import TestSupport
import Testing

/// Codes by mail, from the request through a mail server to the session.
@Suite(.limitedConcurrency, .timeLimit(.minutes(5)))
struct MailTests {
    private static let password = "canary horse battery"
    private static let smtpPassword = "canary-smtp-password"

    private static func run(_ body: (World, MailServer) async throws -> Void) async throws {
        try await MailServer.run(login: "lamp:\(smtpPassword)") { peer in
            let settings = [
                "mail.smtpUrl": "smtp://lamp:\(smtpPassword)@127.0.0.1:\(peer.port)", "mail.from": "lamp@example.com",
                "mail.serviceName": "Lamp", "log.level": "trace",
            ]
            try await World.run(settings) { world in try await body(world, peer) }
        }
    }

    private static func code(in message: MailServer.Message) throws -> String {
        let match = try #require(message.text?.firstMatch(of: /(?m)^    (\d{6})$/), "\(message.text ?? "")")
        return String(match.1)
    }

    private static func askForCode(
        _ world: World, _ email: String, _ purpose: String = "signIn", language: String = "en"
    ) async throws -> Answer {
        try await world.service.post(
            "/v1/email-codes", ["email": .string(email), "purpose": .string(purpose)],
            headers: [("Accept-Language", language)])
    }

    @Test func `a code that was asked for is in the mailbox, and signs in once`() async throws {
        try await Self.run { world, peer in
            _ = try await world.service.post(
                "/v1/accounts", ["email": "kim@example.com", "password": .string(Self.password)])
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
            let signedIn = try await world.service.post("/v1/sign-in/email-code", attempt)
            #expect(signedIn.status == 200, "\(signedIn.text)")
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

    @Test func `a password is reset by mail, and its owner is notified`() async throws {
        try await Self.run { world, peer in
            _ = try await world.service.post(
                "/v1/accounts", ["email": "kim@example.com", "password": .string(Self.password)])
            #expect(try await Self.askForCode(world, "kim@example.com", "resetPassword").status == 202)
            let code = try Self.code(in: try #require(await peer.messages(1).first))
            let reset = try await world.service.post(
                "/v1/accounts/password-reset",
                ["email": "kim@example.com", "code": .string(code), "newPassword": "another horse battery"])
            #expect(reset.status == 204, "\(reset.text)")
            let notice = try #require(await peer.messages(2).last)
            #expect(notice.header("Subject") == "The password of your Lamp account was changed")
            #expect(notice.recipients == ["kim@example.com"])
        }
    }

    @Test func `without a mail server there are no codes, and all else works`() async throws {
        try await World.run { world in
            let answer = try await Self.askForCode(world, "kim@example.com")
            #expect(answer.status == 503)
            #expect(answer.code == "temporarily_unavailable")
            #expect(try await world.service.signInWithApple(try await world.newAppleToken()).status == 200)
        }
    }
}

extension World {
    fileprivate func newAppleToken() async throws -> String {
        try await newPerson("lee")
        return try await appleToken("lee")
    }
}
