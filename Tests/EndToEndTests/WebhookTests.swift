import Foundation
import JSON
import Postgres
import Synchronization
import TestSupport
import Testing

/// What a receiver gets from running services: whole processes, real sockets.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10))) struct WebhookTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private struct Delivery: Sendable {
        let id: String
        let type: String
        let account: String
        let sequence: Int

        init?(_ request: LoopbackServer.Request) {
            guard let event = try? JSONValue(parsing: request.body), let id = event["id"]?.string,
                let type = event["type"]?.string, let account = event["data"]?["accountId"]?.string,
                let sequence = event["data"]?["sequence"]?.integer
            else { return nil }
            (self.id, self.type, self.account, self.sequence) = (id, type, account, Int(sequence))
        }
    }

    /// The settings of an endpoint, whose secret is in a file as long as the body runs.
    private static func withEndpoint(
        _ url: String, _ body: (Countersign.Settings) async throws -> Void
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "webhook-\(UUID().uuidString)")
        #expect(
            FileManager.default.createFile(
                atPath: file.path, contents: Data((secret + "\n").utf8), attributes: [.posixPermissions: 0o600]))
        defer { try? FileManager.default.removeItem(at: file) }
        try await body([
            "webhooks.endpoints": "crm", "webhooks.endpoint.crm.url": url,
            "webhooks.endpoint.crm.secretPath": file.path, "webhooks.allowedNetworks": "127.0.0.0/8",
            "webhooks.retrySeconds": "1,2,3",
        ])
    }

    @Test func `a receiver hears what happens, and administrators test, pause, resume and replay`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        try await Self.withEndpoint(receiver.url + "/hook?key=hidden") { settings in
            try await World.run(settings) { world in
                let key = try await world.adminKey("read,manage")
                @Sendable func call(_ method: String, _ path: String, _ body: String? = nil) async throws -> RawAnswer {
                    try await world.service.administer(method, "/admin/v1/webhooks" + path, bearer: key, body: body)
                }
                try await eventually("the endpoint is known") {
                    try await call("POST", "/crm/resume").status == 200
                }
                let test = try await call("POST", "/crm/test")
                #expect(test.status == 200 && test.body.contains(#""delivered":true,"status":204"#), "\(test.body)")
                _ = try await world.newAccount("webhook-1")
                let history = await receiver.history { $0.requests.count >= 3 }
                #expect(
                    history.requests.first.map { String(decoding: $0.body, as: UTF8.self) }?
                        .contains(#""type":"endpoint.test""#) == true)
                let born = history.requests.compactMap(Delivery.init)
                #expect(born.map(\.type) == ["account.created", "identity.linked"])
                #expect(
                    try await call("POST", "/crm/pause", #"{"reason":"a test"}"#).body.contains(#""status":"paused""#))
                try await eventually("it is up to date") {
                    try await call("GET", "").body.contains(#""behindSeconds":0"#)
                }
                let listed = try await call("GET", "").body
                #expect(listed.contains("/hook\"") && !listed.contains("hidden"))
                _ = try await call("POST", "/crm/resume")
                let id = try #require(born.first?.id)
                let replay = try await call("POST", "/crm/replay", #"{"eventId":"\#(id)"}"#)
                #expect(replay.status == 202 && replay.body == #"{"events":1}"#, "\(replay.body)")
                let again = await receiver.history { $0.requests.count >= 4 }
                #expect(again.requests.last.flatMap(Delivery.init)?.id == id)
                for body in [#"{}"#, #"{"since":"2026-01-01T00:00:00Z","eventId":"\#(id)"}"#, #"{"since":"x"}"#] {
                    #expect(try await call("POST", "/crm/replay", body).status == 400, "\(body)")
                }
                for path in ["/nobody/test", "/nobody/pause", "/nobody/resume"] {
                    #expect(try await call("POST", path).status == 404, "\(path)")
                }
                #expect(try await call("GET", "/crm/failures").body == #"{"items":[]}"#)
                let command = try await Countersign.run(
                    ["webhooks", "list"], settings.merging(["postgres.url": world.scratch.url]) { $1 })
                #expect(command.status == 0 && command.output.contains(#""name":"crm""#), "\(command.error)")
                #expect(!world.service.log.contains("hidden"))
            }
        }
    }

    /// Every event that was committed arrives, those of an account in their order: a second time only from where a process
    /// had not written down how far it was.
    @Test func `processes and the server are killed under load, and nothing is lost or out of order`() async throws {
        let receiver = try LoopbackServer { request in
            // One of seven events fails the first time.
            let isOdd = request.body.reduce(0) { $0 &+ Int($1) } % 7 == 0
            return [.respond(isOdd && Int.random(in: 0..<2) == 0 ? 500 : 204)]
        }
        try await Self.withEndpoint(receiver.url) { settings in
            try await World.run(settings) { world in
                let all = try World.settings(world.scratch, world.sandbox).merging(settings) { $1 }
                var second = try await Countersign.start(all)
                let isOver = Atomic(false)
                async let load: Void = {
                    var number = 0
                    while !isOver.load(ordering: .relaxed) {
                        number += 1
                        try await world.scratch.announce(to: number % 20)
                        try await pollingPause()
                    }
                }()
                for round in 0..<20 {
                    let before = receiver.history.requests.count
                    await receiver.history { $0.requests.count >= before + 10 }
                    if round % 5 == 4 {
                        try await world.scratch.execute(
                            """
                            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                            WHERE datname = current_database() AND application_name LIKE 'countersign%'
                            """)
                    } else {
                        await second.kill(SIGKILL)
                        second = try await Countersign.start(all)
                    }
                }
                isOver.store(true, ordering: .relaxed)
                try await load
                try await eventually("all of it has arrived") {
                    let committed = try await world.count(
                        "SELECT count(*) FROM account_sequences s JOIN account_events USING (account_id)")
                    let unstamped = try await world.count("SELECT count(*) FROM unstamped_events")
                    let parked = try await world.count("SELECT count(*) FROM webhook_parked")
                    let ids = Set(receiver.history.requests.compactMap(Delivery.init).map(\.id))
                    return unstamped == 0 && parked == 0 && Int64(ids.count) == committed
                }
                await second.stop()
                var highest: [String: Int] = [:]
                for delivery in receiver.history.requests.compactMap(Delivery.init) {
                    let last = highest[delivery.account, default: 0]
                    #expect(delivery.sequence <= last + 1, "\(delivery) after \(last)")
                    highest[delivery.account] = max(last, delivery.sequence)
                }
            }
        }
    }
}

extension ScratchDatabase {
    /// An event of one of some accounts, as a change writes it.
    fileprivate func announce(to number: Int) async throws {
        let id = "00000000-0000-7000-8000-0000000000\(number < 10 ? "0" : "")\(number)"
        try await execute(
            """
            WITH numbered AS (
                INSERT INTO account_sequences AS s (account_id, last_sequence) VALUES (\(id)::text::uuid, 1)
                ON CONFLICT (account_id) DO UPDATE SET last_sequence = s.last_sequence + 1
                RETURNING account_id, last_sequence
            )
            INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
            SELECT gen_random_uuid(), 'account.enabled', account_id, last_sequence, '{"by":"admin"}', now()
            FROM numbered
            """)
    }
}
