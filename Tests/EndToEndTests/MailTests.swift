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
        let match = try #require(message.text?.firstMatch(of: /(?m)^    (\d{6}|\d{10})$/), "\(message.text ?? "")")
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

    @Test func `an address that is guessed at is mailed ten digits, and its owner gets in at home`() async throws {
        try await Self.run(["server.trustedProxies": "127.0.0.1"]) { world, peer in
            func post(_ path: String, _ members: TokenMint.Members, from address: String) async throws -> Answer {
                try await world.service.post(path, members, headers: [("X-Forwarded-For", address)])
            }
            let (home, elsewhere) = ("203.0.113.7", "2001:db8:1:2::3")
            let email: TokenMint.Members = ["email": "kim@example.com"]
            let registered = try await post("/v1/accounts", email.with("password", .string(Self.password)), from: home)
            #expect(registered.status == 201)
            // A network is known to an account that has proven its address alone.
            #expect(try await post("/v1/email-codes", email.with("purpose", "verifyEmail"), from: home).status == 202)
            let proof = try Self.code(in: try #require(await peer.messages(1).first))
            try await world.service.verifyEmail(proof, bearer: try registered.bearer()).expecting(204)
            let asked = try await post("/v1/email-codes", email.with("purpose", "signIn"), from: elsewhere)
            #expect(asked.status == 202)
            let code = try Self.code(in: try #require(await peer.messages(2).last))
            #expect(code.utf8.count == 6)
            for number in 0..<20 {
                let wrong = try await post(
                    "/v1/sign-in/email-code", email.with("code", "x23456"), from: "10.\(number / 5).0.\(number)")
                #expect(wrong.code == "invalid_credentials")
            }
            let reset = try await post("/v1/email-codes", email.with("purpose", "resetPassword"), from: elsewhere)
            #expect(reset.withoutRequestID == asked.withoutRequestID)
            #expect(try Self.code(in: try #require(await peer.messages(3).last)).utf8.count == 10)
            // The others have used up the code, but not for the network that the account was made in.
            for (address, status) in [(elsewhere, 401), (home, 200)] {
                let answer = try await post("/v1/sign-in/email-code", email.with("code", .string(code)), from: address)
                #expect(answer.status == status)
            }
            try await eventually("its count") {
                try await world.service.metric("countersign_wrong_guesses_total", #"kind="email_code""#) == 21
            }
        }
    }
}
