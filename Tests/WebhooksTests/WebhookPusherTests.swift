import Accounts
import Foundation
import JSON
import OpenSSL
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

@Suite(.timeLimit(.minutes(3))) struct WebhookPusherTests {
    @Test func `each event comes once, of an account in its order, signed over the bytes of the feed`() async throws {
        try await WebhookWorld.run { world in
            let ids = WebhookWorld.ids(7)
            try await world.pushing(processes: 2) {
                let named = (0..<60).map { ids[$0 % ids.count] }
                try await world.happen(to: named)
                let deliveries = await world.deliveries(named.count)
                #expect(Set(deliveries.map(\.id)).count == named.count)
                for id in ids {
                    let sequences = deliveries.filter { $0.account == id.description }.map(\.sequence)
                    #expect(sequences == Array(1...Int64(sequences.count)))
                }
                _ = try await world.record { $0.oldest == nil && $0.lastSuccessAt != nil }
            }
            let requests = world.receiver.history.requests
            #expect(requests.count == 60)
            let request = try #require(requests.first)
            let id = try #require(request.header("webhook-id"))
            let timestamp = try #require(request.header("webhook-timestamp"))
            #expect(timestamp == "\(WebhookWorld.start)")
            let key = try #require(Data(base64Encoded: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
            let code = try HMACSHA256.authenticationCode(
                for: Array("\(id).\(timestamp).".utf8) + request.body, key: [UInt8](key))
            #expect(request.header("webhook-signature") == "v1," + Data(code.bytes).base64EncodedString())
            #expect(request.header("Content-Type") == "application/json")
            let events = try #require(try await world.feed.page(after: .beginning, of: [], limit: 100)).events
            #expect(events.contains { $0.body == request.body })
        }
    }

    @Test func `a failed event holds back its account alone, until it is taken`() async throws {
        let (bad, good) = (WebhookWorld.ids(1)[0], WebhookWorld.ids(1)[0])
        let isDown = Atomic(true)
        try await WebhookWorld.run(
            answering: .init { event, _ in
                let isBad = event["data"]?["accountId"]?.string == bad.description
                return [.respond(isBad && isDown.load(ordering: .relaxed) ? 503 : 200)]
            }
        ) { world in
            try await world.pushing {
                try await world.happen(to: [bad, good, bad, good, bad])
                // One try of the bad account's first, both of the good one's.
                _ = await world.deliveries(3)
                let parked = try await world.record { $0.parkedAccounts == 1 && $0.lastError != nil }
                #expect(parked.lastError == "status_503")
                #expect(parked.oldest?.seconds == WebhookWorld.start)
                // What is new of the one waits behind what failed, of the other it doesn't.
                try await world.happen(to: [bad, good])
                let first = await world.deliveries(4)
                #expect(first.filter { $0.account == good.description }.map(\.sequence) == [1, 2, 3])
                #expect(first.filter { $0.account == bad.description }.map(\.sequence) == [1])
                isDown.store(false, ordering: .relaxed)
                world.clock.advance(by: 7)
                let all = await world.deliveries(8)
                #expect(all.filter { $0.account == bad.description }.map(\.sequence) == [1, 1, 2, 3, 4])
                _ = try await world.record { $0.parkedAccounts == 0 && $0.oldest == nil }
                // It goes on with the others.
                try await world.happen(to: [bad, good])
                #expect(Set((await world.deliveries(10)).suffix(2).map(\.sequence)) == [4, 5])
            }
        }
    }

    @Test func `an account with many events holds back no other, and gets each of them once`() async throws {
        let (busy, other) = (WebhookWorld.ids(1)[0], WebhookWorld.ids(1)[0])
        try await WebhookWorld.run(
            answering: .init { event, _ in
                let isHeld =
                    event["data"]?["accountId"]?.string == busy.description && event["data"]?["sequence"]?.integer == 20
                return (isHeld ? [.hold] : []) + [.respond(204)]
            }
        ) { world in
            // More than are read ahead.
            try await world.happen(to: Array(repeating: busy, count: 600) + [other])
            try await world.pushing {
                _ = await world.receiver.history { history in
                    history.requests.compactMap(WebhookDelivery.init).contains { $0.account == other.description }
                }
                world.receiver.release()
                let deliveries = await world.deliveries(601)
                #expect(deliveries.filter { $0.account == busy.description }.map(\.sequence) == Array(1...600))
                _ = try await world.record { $0.parkedAccounts == 0 && $0.oldest == nil }
            }
            #expect(world.receiver.history.requests.count == 601)
        }
    }

    @Test func `an account that can't be parked loses none of its events`() async throws {
        let id = WebhookWorld.ids(1)[0]
        try await WebhookWorld.run { world in
            let statements: [SQL] = [
                "CREATE SEQUENCE parkings",
                """
                CREATE FUNCTION fail_at_first() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF nextval('parkings') <= 3 THEN RAISE EXCEPTION 'not now'; END IF;
                    RETURN NEW;
                END
                $$
                """,
                "CREATE TRIGGER fail_at_first BEFORE INSERT ON webhook_parked FOR EACH ROW EXECUTE FUNCTION fail_at_first()",
            ]
            for statement in statements { try await world.database.execute(statement) }
            try await world.happen(to: Array(repeating: id, count: 40))
            try await world.pushing {
                _ = await world.receiver.history { history in
                    Set(history.requests.compactMap { WebhookDelivery($0)?.sequence }) == Set(1...40)
                }
                _ = try await world.record { $0.parkedAccounts == 0 && $0.oldest == nil }
            }
            let tries = try await world.database.query("SELECT last_value FROM parkings", as: Int.self)
            #expect(try #require(tries.first) > 3)
        }
    }

    @Test func `where nothing succeeds one new event is tried at a time, until one succeeds`() async throws {
        let isDown = Atomic(true)
        try await WebhookWorld.run(
            answering: .init { _, _ in [.respond(isDown.load(ordering: .relaxed) ? 503 : 200)] }
        ) { world in
            try await world.pushing {
                try await world.happen(to: WebhookWorld.ids(70))
                _ = try await world.record { $0.parkedAccounts == 70 }
                isDown.store(false, ordering: .relaxed)
                // What is parked isn't due: the clock stands.
                let new = WebhookWorld.ids(5)
                try await world.happen(to: new)
                let all = await world.deliveries(75)
                #expect(Set(all.suffix(5).map(\.account)) == Set(new.map(\.description)))
                #expect(try await world.record { $0.lastSuccessAt != nil }.parkedAccounts == 70)
                world.clock.advance(by: 7)
                let parked = await world.deliveries(145).suffix(70)
                #expect(Set(parked.map(\.account)) == Set(all.prefix(70).map(\.account)))
                _ = try await world.record { $0.parkedAccounts == 0 && $0.oldest == nil }
            }
        }
    }

    @Test func `behind the last step an event is given up and kept, and its account goes on`() async throws {
        let id = WebhookWorld.ids(1)[0]
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: [10]),
            answering: .init { event, _ in [.respond(event["data"]?["sequence"]?.integer == 1 ? 500 : 200)] }
        ) { world in
            try await world.pushing {
                try await world.happen(to: [id, id])
                _ = try await world.record { $0.parkedAccounts == 1 }
                world.clock.advance(by: 20)
                let deliveries = await world.deliveries(3)
                #expect(deliveries.map(\.sequence) == [1, 1, 2])
                let record = try await world.record { $0.failures == 1 && $0.parkedAccounts == 0 }
                #expect(record.status == .active)
            }
            let failure = try #require(try await world.store.failures(of: "crm", before: nil, limit: 10).items.first)
            #expect(failure.attempts == 2 && failure.lastError == "status_500" && failure.event.sequence == 1)
            try await world.database.execute(
                """
                INSERT INTO webhook_failures
                SELECT f.endpoint, t.id, f.position, f.type, f.account_id, f.external_id, f.sequence, f.members,
                    f.happened_at, f.attempts, f.last_error, f.given_up_at
                FROM webhook_failures f
                CROSS JOIN (VALUES ('00000000-0000-7000-8000-000000000001'::uuid),
                    ('00000000-0000-7000-8000-000000000002'::uuid)) t (id)
                """)
            let newest = try await world.store.failures(of: "crm", before: nil, limit: 2)
            let older = try await world.store.failures(of: "crm", before: newest.next, limit: 2)
            #expect(newest.items.map { "\($0.event.id)".last } == ["\(failure.event.id)".last, "2"])
            #expect(older.items.map { "\($0.event.id)".last } == ["1"] && older.next == nil)
            #expect(try await world.store.deleteFailures(before: failure.givenUpAt, limit: 10) == 0)
            let later = failure.givenUpAt.advanced(bySeconds: 1)
            #expect(try await world.store.deleteFailures(before: later, limit: 10) == 3)
        }
    }

    @Test func `410 stops the endpoint, and at its resumption that event goes first`() async throws {
        let id = WebhookWorld.ids(1)[0]
        let isGone = Atomic(true)
        try await WebhookWorld.run(answering: .init { _, _ in [.respond(isGone.load(ordering: .relaxed) ? 410 : 200)] })
        {
            world in
            try await world.pushing {
                try await world.happen(to: [id, id])
                let stopped = try await world.record { $0.status == .stopped }
                #expect(stopped.reason == "gone" && stopped.failures == 0)
                isGone.store(false, ordering: .relaxed)
                try await world.store.set(.active, of: "crm", reason: "a test", by: world.call)
                #expect(await world.deliveries(3).map(\.sequence) == [1, 1, 2])
            }
        }
    }

    @Test func `what waits is tried at a resumption, also of an active endpoint, and that try counts for no step`()
        async throws
    {
        let id = WebhookWorld.ids(1)[0]
        let isDown = Atomic(true)
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: [3600]),
            answering: .init { _, _ in [.respond(isDown.load(ordering: .relaxed) ? 503 : 200)] }
        ) { world in
            func resume() async throws {
                try await world.store.set(.active, of: "crm", reason: "a test", by: world.call)
            }
            func attempts() async throws -> [Int] {
                try await world.database.query(
                    "SELECT attempts FROM webhook_parked WHERE next_attempt_at > \(world.clock.now())", as: Int.self)
            }
            try await world.pushing {
                try await world.happen(to: [id, id])
                while try await attempts() != [1] { try await pollingPause() }
                for tries in 2...4 {
                    try await resume()
                    #expect(await world.deliveries(tries).map(\.sequence) == Array(repeating: 1, count: tries))
                    while try await attempts() != [1] { try await pollingPause() }
                }
                isDown.store(false, ordering: .relaxed)
                try await resume()
                #expect(await world.deliveries(6).map(\.sequence) == [1, 1, 1, 1, 1, 2])
                #expect(try await world.record { $0.parkedAccounts == 0 }.failures == 0)
                // Where nothing waits nothing is done, nor recorded.
                try await resume()
            }
            let recorded = try await world.database.query(
                "SELECT reason FROM audit_events WHERE type = 'webhook_resumed'", as: String.self)
            #expect(recorded == Array(repeating: "crm a test", count: 4))
        }
    }

    @Test func `what is paused waits, and a replay comes beside what is new, of its types alone`() async throws {
        let ids = WebhookWorld.ids(2)
        try await WebhookWorld.run { world in
            try await world.store.set(.paused, of: "crm", reason: nil, by: world.call)
            await #expect(throws: WebhookStore.Unseen.self) {
                try await world.store.set(.paused, of: "nobody", reason: nil, by: world.call)
            }
            try await world.pushing {
                try await world.happen(to: ids)
                world.clock.advance(by: 90)
                let paused = try await world.record { $0.oldest != nil }
                #expect(paused.status == .paused && world.receiver.history.requests.isEmpty)
                try await world.store.set(.active, of: "crm", reason: nil, by: world.call)
                #expect(Set(await world.deliveries(2).map(\.account)) == Set(ids.map(\.description)))
                let end = try #require(try await world.feed.ends()).last
                let count = try await world.store.replay(
                    to: "crm", after: .beginning, until: end, types: [.accountEnabled], reason: "a test", by: world.call
                )
                #expect(count == 2)
                let none = try await world.store.replay(
                    to: "crm", after: .beginning, until: end, types: [.accountMerged], reason: "a test", by: world.call)
                #expect(none == 0)
                let all = await world.deliveries(4)
                let feed = try #require(try await world.feed.page(after: .beginning, of: [], limit: 10))
                #expect(Set(all.suffix(2).map(\.id)) == Set(feed.events.map(\.id.description)))
                while try await world.store.streams(of: "crm").count > 1 { try await pollingPause() }
            }
            let recorded = try await world.database.query(
                "SELECT type FROM audit_events WHERE type LIKE 'webhook%' ORDER BY created_at, event_id",
                as: String.self)
            #expect(Set(recorded) == ["webhook_paused", "webhook_resumed", "webhook_replayed"])
        }
    }

    @Test func `an endpoint has ten replays under way, and no more`() async throws {
        try await WebhookWorld.run { world in
            try await world.happen(to: WebhookWorld.ids(1))
            let end = try #require(try await world.feed.ends()).last
            func replay() async throws -> Int {
                try await world.store.replay(
                    to: "crm", after: .beginning, until: end, types: [.accountEnabled], reason: "a test", by: world.call
                )
            }
            for _ in 1...10 { #expect(try await replay() == 1) }
            await #expect(throws: WebhookStore.ReplaysUnderWay.self) { try await replay() }
            let event = try #require(try await world.feed.page(after: .beginning, of: [], limit: 1)?.events.first)
            await #expect(throws: WebhookStore.ReplaysUnderWay.self) {
                try await world.store.replay(event, to: "crm", types: world.types, reason: "a test", by: world.call)
            }
            #expect(try await world.store.streams(of: "crm").count == 11)
        }
    }

    @Test func `a process that has lost an endpoint to another writes nothing of it`() async throws {
        try await WebhookWorld.run { world in
            let (store, now) = (world.store, world.clock.now())
            try await world.happen(to: WebhookWorld.ids(1))
            let event = try #require(try await world.feed.page(after: .beginning, of: [], limit: 1)?.events.first)
            _ = try await store.replay(
                to: "crm", after: .beginning, until: event.position, types: [.accountEnabled], reason: "a test",
                by: world.call)
            let streams = try await store.streams(of: "crm")
            let (stream, replay) = (try #require(streams.first).id, try #require(streams.last).id)
            let leases = [UUID(), UUID()].map { WebhookLease(endpoint: "crm", holder: $0) }
            #expect(try await store.lease("crm", by: leases[0].holder, seconds: 60) == .active)
            #expect(try await store.lease("crm", by: leases[1].holder, seconds: 60) == nil)
            try await store.release("crm", by: leases[0].holder)
            #expect(try await store.lease("crm", by: leases[1].holder, seconds: 60) == .active)

            let parked = ParkedEvent(accountID: event.accountID, position: event.position, attempts: 1, event: event)
            let writes: [@Sendable (WebhookLease) async throws -> Void] = [
                { try await store.park(parked, until: now, error: nil, in: stream, under: $0) },
                { try await store.unpark(parked.accountID, in: stream, under: $0) },
                { try await store.giveUp(event, attempts: 2, error: "status_500", under: $0, at: now) },
                { try await store.advance(stream, to: event.position, under: $0) },
                { try await store.end(replay, under: $0) },
            ]
            for write in writes { await #expect(throws: WebhookLease.Lost.self) { try await write(leases[0]) } }
            #expect(try await store.parkedAccounts(of: stream).isEmpty)
            #expect(try await store.failures(of: "crm", before: nil, limit: 10).items.isEmpty)
            #expect(try await store.streams(of: "crm").map(\.position) == streams.map(\.position))
            for write in writes { try await write(leases[1]) }
            #expect(try await store.failures(of: "crm", before: nil, limit: 10).items.count == 1)
            #expect(try await store.streams(of: "crm").map(\.position) == [event.position])
        }
    }

    @Test func `an address that is not allowed is refused at the connection, by any name`() async throws {
        try await WebhookWorld.run { world in
            try await world.pushing(allowing: []) {
                try await world.happen(to: WebhookWorld.ids(1))
                #expect(try await world.record { $0.lastError != nil }.lastError == "address_refused")
            }
            #expect(world.receiver.history.opened == 0)
        }
    }

    @Test func `a redirect is a failure and is not followed, and an answer without end is cut off`() async throws {
        let ids = WebhookWorld.ids(1)
        try await WebhookWorld.run(
            answering: .init { _, earlier in
                earlier == 0
                    ? [.respond(302, headers: [("Location", "/elsewhere")])]
                    : [
                        .send("HTTP/1.1 200 OK\r\n\r\n"),
                        .repeated([UInt8](repeating: 0x20, count: 65_536), times: 100), .close,
                    ]
            }
        ) { world in
            try await world.pushing {
                try await world.happen(to: ids)
                #expect(try await world.record { $0.lastError != nil }.lastError == "redirected")
                world.clock.advance(by: 10)
                _ = try await world.record { $0.lastSuccessAt != nil }
            }
            #expect(world.receiver.history.requests.allSatisfy { $0.target == "/hook?key=hidden" })
        }
    }
}
