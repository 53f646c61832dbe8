import JSON
import Postgres
import TestSupport
import Testing

/// What an administrator has sent once more: whole processes, real sockets.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct WebhookReplayTests {
    @Test func `an eleventh replay is refused in a sentence, and is no error of the service`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(500)] }
        // Nothing is tried again while the test runs, so that no replay ends.
        try await WebhookEndpointFile.serve(receiver.url, ["webhooks.retrySeconds": "600"]) { world, settings in
            let endpoint = try await KnownEndpoint.of(world, "manage")
            _ = try await world.newAccount("webhook-replays")
            _ = await receiver.history { !$0.requests.isEmpty }
            let since = "2026-01-01T00:00:00Z"
            for _ in 1...10 { try await endpoint.post("/replay", #"{"since":"\#(since)"}"#).expecting(202) }
            let sentence = """
                10 replays to this endpoint are under way, which is the most. Try again in a minute; while it is paused, \
                none of them ends.
                """
            let refused = try await endpoint.post("/replay", #"{"since":"\#(since)"}"#)
            #expect(refused.status == 503 && refused.code == "temporarily_unavailable", "\(refused.body)")
            #expect(refused["retry-after"] == "60")
            #expect(refused.json?["detail"]?.string == sentence)
            let line = try await world.service.logged(try #require(refused["x-request-id"]))
            #expect(line["level"]?.string == "info")
            #expect(line["reason"]?.string == "replays_under_way")

            let command = try await world.run(["webhooks", "replay", "crm", "--since", since], settings)
            #expect(command.status == 1 && command.output.isEmpty, "\(command.output)")
            #expect(command.error == "countersign: \(sentence)\n")
        }
    }

    @Test func `while a single event is on its way the next replay may come in a second`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        try await WebhookEndpointFile.serve(receiver.url) { world, _ in
            let endpoint = try await KnownEndpoint.of(world, "read,manage")
            _ = try await world.newAccount("webhook-single")
            let feed = try await world.service.administer("GET", "/admin/v1/feed?wait=25", bearer: endpoint.key)
            let id = try #require(feed.items.first?["id"]?.string, "\(feed.body)")
            // As while another process has the endpoint: no replay ends.
            try await world.scratch.execute(
                """
                UPDATE webhook_endpoints
                SET leased_by = gen_random_uuid(), leased_until = now() + interval '1 hour'
                """)
            for _ in 1...10 { try await endpoint.post("/replay", #"{"eventId":"\#(id)"}"#).expecting(202) }
            func expectRefusal(_ seconds: String, _ words: String) async throws {
                let refused = try await endpoint.post("/replay", #"{"eventId":"\#(id)"}"#)
                #expect(refused.status == 503 && refused["retry-after"] == seconds, "\(refused.text)")
                #expect(refused.json?["detail"]?.string?.contains(words) == true, "\(refused.body)")
            }
            try await expectRefusal("1", "Try again in a second.")
            #expect(try await endpoint.post("/pause").status == 200)
            try await expectRefusal("60", "Try again in a minute; while it is paused")
            #expect(try await endpoint.post("/resume").status == 200)
            try await expectRefusal("1", "Try again in a second.")
            // What has failed waits for its next step.
            try await world.scratch.execute("UPDATE webhook_parked SET last_error = 'status_500'")
            try await expectRefusal("60", "Try again in a minute")
        }
    }

    @Test func `an event that is named by its id is sent whatever types its endpoint gets`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        let deletions = ["webhooks.endpoint.crm.types": "account.deleted"]
        try await WebhookEndpointFile.serve(receiver.url, deletions) { world, settings in
            let endpoint = try await KnownEndpoint.of(world, "read,manage")
            _ = try await world.newAccount("webhook-types")
            let feed = try await world.service.administer("GET", "/admin/v1/feed?wait=25", bearer: endpoint.key)
            let born = try #require(feed.items.first, "\(feed.body)")
            #expect(born["type"]?.string == "account.created")
            let id = try #require(born["id"]?.string)
            // Of a type that is asked for it is not.
            for (types, count) in [(#","types":["account.deleted"]"#, 0), ("", 1)] {
                let replay = try await endpoint.post("/replay", #"{"eventId":"\#(id)"\#(types)}"#)
                #expect(replay.status == 202 && replay.body == #"{"events":\#(count)}"#, "\(replay.body)")
            }
            let command = try await world.run(["webhooks", "replay", "crm", "--event", id], settings)
            #expect(command.status == 0 && command.output == #"{"events":1}"# + "\n", "\(command.error)")
            let history = await receiver.history { $0.requests.count >= 2 }
            #expect(history.requests.compactMap(WebhookDelivery.init).map(\.id) == [id, id])
        }
    }
}
