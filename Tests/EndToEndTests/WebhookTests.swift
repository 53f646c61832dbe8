import Foundation
import JSON
import OpenSSL
import Postgres
import TestSupport
import Testing

/// What a receiver gets from running services: whole processes, real sockets.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct WebhookTests {
    @Test func `a receiver hears what happens, and administrators test, pause, resume and replay`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        try await WebhookEndpointFile.serve(receiver.url + "/hook?key=hidden") { world, settings in
            let endpoint = try await KnownEndpoint.of(world, "read,manage")
            // One of each result, and of what was given up, before there is any.
            try await eventually("its counters") {
                let lines = try await world.service.privateGet("/metrics").text.split(separator: "\n")
                let counters = lines.filter { $0.contains(#"_total{endpoint="crm""#) }
                return counters.count == 10 && counters.allSatisfy { $0.hasSuffix(" 0") }
            }
            let test = try await endpoint.call("POST", "/crm/test")
            #expect(test.status == 200 && test.body.contains(#""delivered":true,"status":204"#), "\(test.body)")
            _ = try await world.newAccount("webhook-1")
            let history = await receiver.history { $0.requests.count >= 3 }
            #expect(
                history.requests.first.map { String(decoding: $0.body, as: UTF8.self) }?
                    .contains(#""type":"endpoint.test""#) == true)
            let born = history.requests.compactMap(WebhookDelivery.init)
            #expect(born.map(\.type) == ["account.created", "identity.linked"])
            // As long as a reason may be, beside the name in the trail.
            let reason = String(repeating: "é", count: 512)
            let paused = try await endpoint.call("POST", "/crm/pause", #"{"reason":"\#(reason)"}"#)
            #expect(paused.status == 200 && paused.body.contains(#""status":"paused""#), "\(paused.body)")
            try await eventually("it is up to date") {
                try await endpoint.call("GET", "").body.contains(#""behindSeconds":0"#)
            }
            let listed = try await endpoint.call("GET", "").body
            #expect(listed.contains("/hook\"") && !listed.contains("hidden"))
            _ = try await endpoint.call("POST", "/crm/resume")
            let id = try #require(born.first?.id)
            let replay = try await endpoint.call("POST", "/crm/replay", #"{"eventId":"\#(id)"}"#)
            #expect(replay.status == 202 && replay.body == #"{"events":1}"#, "\(replay.body)")
            #expect(try await world.audited("webhook_replayed", reason: "crm event \(id)") == 1)
            let unknown = #"{"eventId":"00000000-0000-7000-8000-000000000001"}"#
            #expect(try await endpoint.call("POST", "/crm/replay", unknown).status == 404)
            let again = await receiver.history { $0.requests.count >= 4 }
            #expect(again.requests.last.flatMap(WebhookDelivery.init)?.id == id)
            for body in [#"{}"#, #"{"since":"2026-01-01T00:00:00Z","eventId":"\#(id)"}"#, #"{"since":"x"}"#] {
                #expect(try await endpoint.call("POST", "/crm/replay", body).status == 400, "\(body)")
            }
            // An empty list is no wish for all of them.
            for start in [#""eventId":"\#(id)""#, #""since":"2026-01-01T00:00:00Z""#] {
                let refused = try await endpoint.call("POST", "/crm/replay", "{\(start),\"types\":[]}")
                #expect(refused.status == 400 && refused.body.contains(#""types""#), "\(refused.body)")
            }
            for body in [#"{"reason":"a test"}"#, "[]", "nonsense"] {
                let refused = try await endpoint.call("POST", "/crm/test", body)
                #expect(refused.status == 400 && refused.code == "invalid_request", "\(body)")
            }
            let form = try await world.service.administer(
                "POST", "/admin/v1/webhooks/crm/test", bearer: endpoint.key, body: "{}", type: "text/plain")
            #expect(form.status == 415 && form.code == "unsupported_media_type", "\(form.body)")
            let tests = receiver.history.requests.filter {
                String(decoding: $0.body, as: UTF8.self).contains(#""type":"endpoint.test""#)
            }
            #expect(tests.count == 1)
            #expect(try await endpoint.call("POST", "/crm/test", "{}").status == 200)
            #expect(try await world.audited("webhook_tested", reason: "crm") == 2)
            try await world.run(["webhooks", "test", "crm"], settings).expecting(0)
            #expect(try await world.recorded("type = 'webhook_tested' AND actor = 'operator' AND reason = 'crm'") == 1)
            for path in ["/nobody/test", "/nobody/pause", "/nobody/resume"] {
                #expect(try await endpoint.call("POST", path).status == 404, "\(path)")
            }
            #expect(try await endpoint.call("GET", "/crm/failures").body == #"{"items":[]}"#)
            let command = try await world.run(["webhooks", "list"], settings)
            #expect(command.status == 0 && command.output.contains(#""name":"crm""#), "\(command.error)")
            for (act, status, nothing) in [
                ("pause", "paused", nil), ("pause", "paused", "paused already"), ("resume", "active", nil),
                ("resume", "active", "active already"),
            ] as [(String, String, String?)] {
                let ending = try await world.run(["webhooks", act, "crm", "--reason", "case 7"], settings)
                #expect(ending.status == 0 && ending.output.contains(#""status":"\#(status)""#), "\(ending.error)")
                #expect(ending.error.contains("already") == (nothing != nil), "\(ending.error)")
                if let nothing { #expect(ending.error.contains(nothing), "\(ending.error)") }
            }
            #expect(try await world.recorded("actor = 'operator' AND reason = 'crm case 7'") == 2)
            #expect(!world.service.log.contains("hidden"))
        }
    }

    @Test func `endpoints are listed in pages, by name`() async throws {
        try await WebhookEndpointFile.with("http://127.0.0.1:9/hook") { settings in
            var all = settings.merging(["webhooks.endpoints": "crm,billing,audit"]) { $1 }
            for name in ["billing", "audit"] {
                for part in ["url", "secretPath"] {
                    all["webhooks.endpoint.\(name).\(part)"] = settings["webhooks.endpoint.crm.\(part)"]
                }
            }
            try await World.run(all) { world in
                let key = try await world.adminKey("read")
                var pages: [[String]] = []
                var query: String? = "?limit=2"
                while let asked = query {
                    let page = try await world.service.administer("GET", "/admin/v1/webhooks\(asked)", bearer: key)
                    #expect(page.status == 200, "\(page.body)")
                    pages.append(page.items.compactMap { $0["name"]?.string })
                    query = page.json?["nextCursor"]?.string.map { "?limit=2&cursor=\($0)" }
                }
                #expect(pages == [["audit", "billing"], ["crm"]])
            }
        }
    }

    @Test func `a command names the endpoint that there is not, and the event that is not kept`() async throws {
        let event = "01926a3e-0000-7000-8000-000000000000"
        let missing = ", or the event \(event) is not kept"
        let cases = [
            (["test", "nobody"], "nobody"), (["pause", "nobody"], "nobody"), (["resume", "nobody"], "nobody"),
            (["failures", "nobody"], "nobody"), (["replay", "nobody", "--since", "2026-01-01T00:00:00Z"], "nobody"),
            (["replay", "nobody", "--event", event], "nobody\(missing)"),
            (["replay", "crm", "--event", event], "crm\(missing)"),
        ]
        try await WebhookEndpointFile.with("http://127.0.0.1:9/hook") { settings in
            try await ScratchDatabase.withMigrated { scratch in
                for (words, name) in cases {
                    let ending = try await scratch.run(["webhooks"] + words, settings)
                    #expect(ending.status == 1 && ending.output.isEmpty, "\(words)")
                    #expect(ending.error == "countersign: There is no endpoint \(name).\n", "\(words)")
                }
            }
        }
    }

    @Test func `an endpoint that the service has not seen yet is listed, and neither paused nor replayed`() async throws
    {
        let unseen = "The service has not seen this endpoint yet"
        try await WebhookEndpointFile.with("http://127.0.0.1:9/hook") { settings in
            try await ScratchDatabase.withMigrated { scratch in
                func run(_ words: [String]) async throws -> Countersign.Ending {
                    try await scratch.run(["webhooks"] + words, settings)
                }
                for words in [["pause"], ["resume"], ["replay", "--since", "2026-01-01T00:00:00Z"]] {
                    let ending = try await run(words + ["crm"])
                    #expect(ending.status == 1 && ending.output.isEmpty, "\(words)")
                    #expect(ending.error.hasPrefix("countersign: \(unseen)"), "\(words): \(ending.error)")
                }
                let list = try await run(["list"])
                #expect(list.status == 0 && list.output.contains(#""name":"crm""#), "\(list.error)")
            }
            try await World.run(settings) { world in
                let endpoint = try await KnownEndpoint.of(world, "manage")
                // As before the service has looked at its configuration, which it does again after a minute.
                try await world.scratch.execute("DELETE FROM webhook_endpoints")
                for (path, body) in [
                    ("/pause", nil), ("/resume", nil), ("/replay", #"{"since":"2026-01-01T00:00:00Z"}"#),
                ] as [(String, String?)] {
                    let refused = try await endpoint.post(path, body)
                    #expect(refused.status == 404 && refused.code == "not_found", "\(path): \(refused.body)")
                    #expect(refused.body.contains(unseen), "\(path): \(refused.body)")
                }
            }
        }
    }

    @Test func `the console lists what was given up, a page at a time for each endpoint`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        try await WebhookEndpointFile.serve(receiver.url) { world, _ in
            _ = try await KnownEndpoint.of(world, "manage")
            try await world.scratch.execute(
                """
                INSERT INTO webhook_failures (endpoint, event_id, position, type, account_id, sequence, members, happened_at,
                    attempts, last_error, given_up_at)
                SELECT 'crm', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, n, 'account.created',
                    '00000000-0000-7000-8000-000000000000', 1, '{}', now(), 10, 'status_500', now()
                FROM generate_series(1, 60) n
                """)
            let visit = try await ConsoleVisit.signedIn(to: world, "read")
            func events(on page: Browser.Page) -> [Int] {
                (1...60).filter { page.html.text.contains("8000-0000000000\($0 < 10 ? "0" : "")\($0)") }
            }
            let first = try await visit.open("/console/webhooks")
            #expect(events(on: first) == Array(11...60))
            let link = try #require(first.html.elements("a").first { $0.attributes["rel"] == "next" })
            let path = try #require(link.attributes["href"])
            let second = try await visit.open(path)
            #expect(events(on: second) == Array(1...10), "\(second.html.text)")
            #expect(!second.html.elements("a").contains { $0.attributes["rel"] == "next" })
            // Of another endpoint's list nothing changes, and what is no event's id is refused.
            let other = try await visit.open(path.replacing("failures=crm", with: "failures=x"))
            #expect(events(on: other) == Array(11...60))
            #expect(try await visit.open("/console/webhooks?failures=crm&cursor=x").status == 400)
        }
    }

    @Test func `the console says how many accounts wait, and until when, and resumes them where nothing is paused`()
        async throws
    {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        try await WebhookEndpointFile.serve(receiver.url) { world, _ in
            let visit = try await ConsoleVisit.signedIn(to: world, "manage,read")
            try await eventually("the endpoint is known") {
                try await world.count("SELECT count(*) FROM webhook_streams") == 1
            }
            let quiet = try await visit.open("/console/webhooks")
            #expect(!quiet.html.text.contains("next try"), "\(quiet.html.text)")
            #expect(quiet.buttons.contains("Pause") && !quiet.buttons.contains("Resume"))
            try await world.scratch.execute(
                """
                INSERT INTO webhook_parked (stream_id, account_id, position, attempts, next_attempt_at, last_error)
                SELECT s.stream_id, ('00000000-0000-7000-8000-00000000000' || n)::uuid, 1, 4,
                    '2100-01-01 12:00:00Z'::timestamptz + n * interval '1 hour', 'status_503'
                FROM webhook_streams s, generate_series(1, 2) n
                """)
            let waiting = try await visit.open("/console/webhooks")
            for words in ["2 accounts wait", "next try", "2100-01-01 13:00:00"] {
                #expect(waiting.html.text.contains(words), "\(waiting.html.text)")
            }
            #expect(waiting.buttons.contains("Pause") && waiting.buttons.contains("Resume"))
            _ = try await visit.act("Resume", on: waiting)
            #expect(try await world.count("SELECT count(*) FROM webhook_parked WHERE next_attempt_at > now()") == 0)
            #expect(try await world.audited("webhook_resumed", reason: "crm") == 1)
        }
    }

    @Test func `at SIGHUP the secrets are those of the file, and a file that has none changes nothing`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        let (old, new) = (WebhookEndpointFile.secret, "whsec_" + Data(repeating: 7, count: 32).base64EncodedString())
        try await WebhookEndpointFile.serve(receiver.url) { world, settings in
            let endpoint = try await KnownEndpoint.of(world, "manage")
            let path = try #require(settings["webhooks.endpoint.crm.secretPath"])
            /// Whether a test's signatures are those of the secrets, in their order.
            func isSigned(by secrets: [String]) async throws -> Bool {
                let count = receiver.history.requests.count
                let test = try await endpoint.post("/test")
                #expect(test.body.contains(#""delivered":true"#), "\(test.body)")
                let request = try #require((await receiver.history { $0.requests.count > count }).requests.last)
                let (id, time) = try (
                    #require(request.header("webhook-id")), #require(request.header("webhook-timestamp"))
                )
                let codes = try secrets.map { secret in
                    let bytes = try #require(Data(base64Encoded: String(secret.dropFirst("whsec_".count))))
                    let code = try HMACSHA256.authenticationCode(
                        for: Array("\(id).\(time).".utf8) + request.body, key: [UInt8](bytes))
                    return "v1," + Data(code.bytes).base64EncodedString()
                }
                return request.header("webhook-signature") == codes.joined(separator: " ")
            }
            #expect(try await isSigned(by: [old]))
            // A receiver that knows either takes it.
            try Data("\(new)\n\(old)\n".utf8).write(to: URL(filePath: path))
            try await ReloadTests.reload(world.service, "adopted")
            #expect(try await isSigned(by: [new, old]))
            try Data("\(new)\n".utf8).write(to: URL(filePath: path))
            try await ReloadTests.reload(world.service, "adopted")
            #expect(try await isSigned(by: [new]))
            try Data("whsec_short\n".utf8).write(to: URL(filePath: path))
            let log = try await ReloadTests.reload(world.service, "refused", "webhooks.endpoint.crm.secretPath")
            #expect(!log.contains("whsec_short"))
            #expect(try await isSigned(by: [new]))
        }
    }

    @Test func `what the sandbox's receiver gets is signed, and 410 stops it until it is resumed`() async throws {
        try await Sandbox.run { receiver in
            _ = try await receiver.control("receiver", #"{"secrets":["\#(WebhookEndpointFile.secret)"]}"#)
            try await WebhookEndpointFile.serve(receiver.url + "/receiver") { world, _ in
                let endpoint = try await KnownEndpoint.of(world, "read,manage")
                let id = try await receiver.fail("/receiver", .status(410), times: 1, afterwards: true)
                _ = try await world.newAccount("sandbox-hook")
                try await eventually("the endpoint stops") {
                    try await endpoint.call("GET", "").body.contains(#""status":"stopped","reason":"gone""#)
                }
                #expect(id > 0)
                #expect(try await endpoint.call("GET", "/crm/failures").body == #"{"items":[]}"#)
                _ = try await endpoint.post("/resume")
                var deliveries: [JSONValue] = []
                try await eventually("all has come") {
                    deliveries = try await receiver.control("receiver")["items"]?.elements ?? []
                    return deliveries.count >= 3
                }
                #expect(deliveries.allSatisfy { $0["isVerified"]?.bool == true }, "\(deliveries)")
                let bodies = deliveries.compactMap { $0["body"]?.string }
                #expect(bodies[0] == bodies[1])
                #expect(bodies[0].contains("account.created") && bodies[2].contains("identity.linked"))
            }
        }
    }
}
