import Postgres
import TestSupport
import Testing

/// Acts at the console on the endpoints of webhooks.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct ConsoleWebhookTests {
    @Test func `a test that is not taken says why, and nothing of what the receiver said`() async throws {
        let answers: [LoopbackServer.Step] = [
            .respond(500, text: "own words"),
            .respond(302, headers: [("Location", "https://own-words.example.com/")]), .close,
        ]
        let receiver = try LoopbackServer { request in [answers[min(request.connection, 2)], .close] }
        try await WebhookEndpointFile.serve(receiver.url + "/hook?key=canary") { world, _ in
            let visit = try await ConsoleVisit.signedIn(to: world)
            for reason in ["it answered with status 500.", "it answered with a redirect", "(connect_failed)."] {
                let failed = try await visit.act("Test", on: try await visit.open("/console/webhooks")).expecting(409)
                let notice = try #require(failed.notice, "\(failed.answer.body)")
                #expect(notice.hasPrefix("The receiver did not take the test: ") && notice.contains(reason))
                for text in ["own words", "own-words", "canary"] {
                    #expect(!failed.answer.body.contains(text), "\(text)")
                }
            }
            #expect(try await world.audited("webhook_tested", reason: "crm") == 3)
        }
    }

    @Test func `Replay takes a day, and a time as the console shows it`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        try await WebhookEndpointFile.serve(receiver.url + "/hook") { world, _ in
            let visit = try await ConsoleVisit.signedIn(to: world)
            _ = try await KnownEndpoint.of(world, "manage")
            _ = try await world.newAccount("console-replayed")
            try await eventually("the events are in the feed") {
                try await world.count("SELECT count(*) FROM account_events") > 0
            }
            func replay(since: String) async throws -> Browser.Page {
                try await visit.act("Replay", on: try await visit.open("/console/webhooks"), typed: ["since": since])
            }
            for since in ["2020-01-01", " 2020-01-01 08:00:00 "] {
                #expect(try await replay(since: since).notice == "The events are pushed once more.", "\(since)")
            }
            let empty = try await replay(since: "2999-01-01").expecting(409)
            #expect(empty.notice == "There is no event since then.")
            #expect(try await world.audited("webhook_replayed") == 2)
            let refused = try await replay(since: "yesterday").expecting(400)
            #expect(refused.notice?.hasPrefix("This is no time.") == true, "\(refused.answer.body)")
        }
    }
}
