import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

/// Processes that push to a receiver while they and their database are killed, again and again, under load. Every event that
/// was committed arrives, those of an account in their order: a second time only from where a process had not written down
/// how far it was.
///
/// ```
///   changes ──▶ PostgreSQL ──▶ two processes ──▶ receiver, which refuses some of what comes first
///                  ▲ crash        ▲ kill -9, both
/// ```
final class FeedKills: Sendable {
    private static let accounts = 20

    private let scratch: ScratchDatabase
    private let receiver: Receiver
    private let isOver = Atomic(false)

    /// - Parameter report: gets a line for each tenth kill.
    static func run(kills: Int, report: (String) -> Void = { _ in }) async throws {
        let receiver = Receiver()
        let server = try LoopbackServer { [.respond(receiver.take($0) ? 204 : 500)] }
        try await WebhookEndpointFile.with(server.url) { endpoint in
            try await Sandbox.run { sandbox in
                // Durable: what is acknowledged has to be there after the crash.
                try await PrivateCluster.run(isDurable: true) { cluster, url in
                    let scratch = ScratchDatabase(url: url)
                    let settings = try World.settings(scratch, sandbox).merging(endpoint) { $1 }
                    let test = FeedKills(scratch: scratch, receiver: receiver)
                    try await test.run(kills, cluster, settings, report)
                }
            }
        }
    }

    private init(scratch: ScratchDatabase, receiver: Receiver) { (self.scratch, self.receiver) = (scratch, receiver) }

    private func run(
        _ kills: Int, _ cluster: PrivateCluster, _ settings: Countersign.Settings, _ report: (String) -> Void
    ) async throws {
        var processes = [try await Countersign.start(settings, arguments: ["--migrate"])]
        processes.append(try await Countersign.start(settings))
        async let acknowledged = load()
        do {
            defer { isOver.store(true, ordering: .relaxed) }
            for kill in 1...kills {
                let before = receiver.accepted.count
                while receiver.accepted.count < before + 10 { try await pollingPause() }
                // Every third time the database, else the processes.
                if kill % 3 == 0 {
                    try await cluster.crash()
                    _ = try await cluster.start()
                } else {
                    for process in processes { await process.kill(SIGKILL) }
                    // Nobody sends any more: as if the lease of the dead had run out.
                    try await scratch.execute("UPDATE webhook_endpoints SET leased_until = NULL, leased_by = NULL")
                    processes = [try await Countersign.start(settings), try await Countersign.start(settings)]
                }
                if kill % 10 == 0 { report("\(kill) kills, \(receiver.accepted.count) deliveries") }
            }
        }
        let last = try await acknowledged
        try await check(last)
        for process in processes { await process.stop() }
    }

    /// Changes of some accounts, until the end.
    ///
    /// - Returns: the number of the last event of each that was acknowledged.
    private func load() async throws -> [String: Int64] {
        var last: [String: Int64] = [:]
        var number = 0
        while !isOver.load(ordering: .relaxed) {
            number = (number + 1) % Self.accounts
            let id = "00000000-0000-7000-8000-0000000000\(number < 10 ? "0" : "")\(number)"
            do {
                if let sequence = try await scratch.announce(to: id) { last[id] = sequence }
            } catch {
                // The database is away.
                try await pollingPause()
            }
        }
        return last
    }

    private func check(_ acknowledged: [String: Int64]) async throws {
        try await eventually("all of it has arrived", within: .seconds(120)) {
            let counts = try await scratch.withPool { database in
                try await database.query(
                    """
                    SELECT (SELECT count(*) FROM account_events), (SELECT count(*) FROM unstamped_events),
                        (SELECT count(*) FROM webhook_parked)
                    """, as: Int.self, Int.self, Int.self)
            }
            let ids = Set(receiver.accepted.map(\.id))
            return counts.first.map { $0 == (ids.count, 0, 0) } == true
        }
        var highest: [String: Int64] = [:]
        for delivery in receiver.accepted {
            let before = highest[delivery.account, default: 0]
            #expect(delivery.sequence <= before + 1, "\(delivery) after \(before)")
            highest[delivery.account] = max(before, delivery.sequence)
        }
        #expect(acknowledged.count == Self.accounts)
        for (id, sequence) in acknowledged { #expect(highest[id, default: 0] >= sequence, "\(id)") }
    }

    /// Refuses some of the events when they come first, and keeps what it has accepted.
    private final class Receiver: Sendable {
        private let state = Mutex<(refused: Set<String>, accepted: [WebhookDelivery])>(([], []))

        var accepted: [WebhookDelivery] { state.withLock(\.accepted) }

        func take(_ request: LoopbackServer.Request) -> Bool {
            guard let delivery = WebhookDelivery(request) else { return false }
            return state.withLock { state in
                if delivery.sequence % 7 == 0, state.refused.insert(delivery.id).inserted { return false }
                state.accepted.append(delivery)
                return true
            }
        }
    }
}

/// The settings of an endpoint, and its secret in a file.
enum WebhookEndpointFile {
    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    /// Runs the body with the settings; the file is there as long.
    static func with(_ url: String, _ body: (Countersign.Settings) async throws -> Void) async throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        try await body([
            "webhooks.endpoints": "crm", "webhooks.endpoint.crm.url": url,
            "webhooks.endpoint.crm.secretPath": try directory.write("secret", secret + "\n"),
            "webhooks.allowedNetworks": "127.0.0.0/8", "webhooks.retrySeconds": "1,2,3",
        ])
    }

    /// Runs a world whose service pushes to the endpoint.
    static func serve(
        _ url: String, _ more: Countersign.Settings = [:], _ body: (World, Countersign.Settings) async throws -> Void
    ) async throws {
        try await with(url) { endpoint in
            let settings = endpoint.merging(more) { $1 }
            try await World.run(settings) { world in try await body(world, settings) }
        }
    }
}

extension ScratchDatabase {
    /// An event of an account, as a change writes it.
    ///
    /// - Returns: its number.
    fileprivate func announce(to id: String) async throws -> Int64? {
        try await withPool { database in
            try await database.query(
                """
                WITH numbered AS (
                    INSERT INTO account_sequences AS s (account_id, last_sequence) VALUES (\(id)::text::uuid, 1)
                    ON CONFLICT (account_id) DO UPDATE SET last_sequence = s.last_sequence + 1
                    RETURNING account_id, last_sequence
                )
                INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
                SELECT gen_random_uuid(), 'account.enabled', account_id, last_sequence, '{"by":"admin"}', now()
                FROM numbered
                RETURNING sequence
                """, as: Int64.self
            ).first
        }
    }
}
