import Foundation
import Postgres
import TestSupport
import Testing

/// Faults of the database while the service runs: each is answered 503, the service is back within five seconds of its
/// end, and the process stays the same.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct DatabaseFaultTests {
    private struct Fault: Sendable {
        let name: String
        /// Whether requests that only read may succeed nevertheless.
        var readsSucceed = false
        let begin: @Sendable (PrivateCluster, ScratchDatabase) async throws -> Void
        let end: @Sendable (PrivateCluster, ScratchDatabase) async throws -> Void
    }

    private static let faults = [
        Fault(
            name: "a power failure", begin: { cluster, _ in try await cluster.crash() },
            end: { cluster, _ in _ = try await cluster.start() }),
        Fault(
            name: "writes refused", readsSucceed: true,
            begin: { _, database in
                try await database.execute(
                    "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
            },
            end: { _, database in
                try await database.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
            }),
        Fault(
            name: "no connection left",
            begin: { _, database in
                try await database.execute(
                    "ALTER ROLE service CONNECTION LIMIT 0",
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'service'")
            },
            end: { _, database in try await database.execute("ALTER ROLE service CONNECTION LIMIT -1") }),
    ]

    /// Runs a service whose role is not that of the cluster's owner, with the tokens of a session.
    private func service(
        _ body: (PrivateCluster, World, _ access: String, _ refresh: String) async throws -> Void
    ) async throws {
        try await Sandbox.run { sandbox in
            try await PrivateCluster.run(isDurable: true) { cluster, url in
                let owner = ScratchDatabase(url: url)
                try await owner.execute("CREATE ROLE service LOGIN")
                let urls = [
                    "postgres.url": url.replacing("//postgres@", with: "//service@"), "postgres.migrationUrl": url,
                ]
                try await World.serve(owner, sandbox, urls, arguments: ["--migrate"]) { world in
                    let created = try await world.newAccount("kim")
                    try await body(cluster, world, created.bearer(), created.refreshToken())
                }
            }
        }
    }

    @Test
    func `every fault of the database is answered 503, and the service is back within five seconds`() async throws {
        try await service { cluster, world, access, first in
            let service = world.service
            let appleToken = try await world.appleToken("kim")
            var refresh = first
            for fault in Self.faults {
                try await fault.begin(cluster, world.scratch)
                try await eventually("readiness to end: \(fault.name)") {
                    try await service.privateGet("/health/ready").status == 503
                }
                let token = refresh
                async let account = service.get("/v1/account", bearer: access)
                async let signIn = service.signInWithApple(appleToken)
                async let renewal = service.refresh(token)
                async let signOut = service.signOut("others", bearer: access)
                var refused = try await [signIn, renewal, signOut]
                let read = try await account
                if !fault.readsSucceed || read.status != 200 { refused.append(read) }
                for answer in refused {
                    answer.expectRefusal(503, "temporarily_unavailable", "\(fault.name)", retryAfter: 1...3)
                }
                #expect(try await service.privateGet("/health/live").status == 200)
                #expect(try await service.get("/.well-known/jwks.json").status == 200)

                try await fault.end(cluster, world.scratch)
                try await world.scratch.awaitWrites(of: "service")
                try await world.awaitService(access)
                #expect(try await service.signInWithApple(appleToken).text("status") == "signedIn")
                let renewed = try await service.refresh(token)
                refresh = try renewed.text("refreshToken")
            }
        }
    }

    /// As while an index is built. It holds up what writes to the table, and nothing else.
    @Test func `a table that takes no writes for a while takes no process out of service`() async throws {
        try await service { _, world, access, _ in
            try await world.scratch.withPool(.test(poolSize: 1)) { owner in
                try await owner.transaction { transaction in
                    try await transaction.execute("LOCK TABLE outbox IN SHARE MODE")
                    let answer = try await world.service.privateGet("/health/ready")
                    #expect(answer.status == 200, "\(answer.text)")
                    let account = try await world.service.get("/v1/account", bearer: access)
                    #expect(account.status == 200)
                }
            }
        }
    }

    @Test
    func `connections that are terminated again and again cost some requests a 503, and nothing more`() async throws {
        try await service { _, world, access, _ in
            let token = try await world.appleToken("kim")
            try await withThrowingTaskGroup(of: [Answer].self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var answers: [Answer] = []
                        for _ in 0..<25 {
                            answers.append(try await world.service.get("/v1/account", bearer: access))
                            answers.append(try await world.service.signInWithApple(token))
                        }
                        return answers
                    }
                }
                for _ in 0..<10 {
                    try await world.scratch.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'service'")
                }
                let answers = try await group.reduce(into: [Answer]()) { $0 += $1 }
                for answer in answers where answer.status != 200 {
                    answer.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...3)
                }
                #expect(answers.contains { $0.status == 200 })
            }
            try await world.awaitService(access)
        }
    }
}
