import JSON
import Postgres
import TestSupport
import Testing

extension Neighbours {
    /// PostgreSQL on a small file system of its own.
    @Suite(
        .enabled(
            if: Mounts.arePermitted, "A full disk needs a file system of its own, and this process may mount none."),
        .limitedConcurrency, .timeLimit(.minutes(30)))
    struct FullDiskTests {
        @Test func `a full disk under PostgreSQL costs writes a 503, until there is room again`() async throws {
            try await World.onCluster(diskMegabytes: 256) { cluster, world in
                let service = world.service
                let access = try await world.newAccount("kim").bearer()
                let token = try await world.appleToken("kim")
                // A segment of the WAL without anything in it: PostgreSQL stops when it can't begin the next one.
                try await world.scratch.execute("SELECT pg_switch_wal()", "CHECKPOINT")
                try cluster.fillDisk()
                var refused: Answer?
                // What fits into the pages that are there still succeeds.
                try await eventually("a write that takes room") {
                    let answer = try await service.signInWithApple(token)
                    if answer.status != 200 { refused = answer }
                    return refused != nil
                }
                #expect(refused?.status == 503)
                #expect(refused?.code == "temporarily_unavailable")
                #expect((1...3).contains(refused?.retryAfter ?? 0))
                #expect(try await service.get("/v1/account", bearer: access).status == 200)
                #expect(try await service.privateGet("/health/live").status == 200)
                let line = try await service.logged(try #require(refused).text("requestId"))
                #expect(line["reason"]?.string?.contains("53100") == true)

                try cluster.freeDisk()
                try await eventually("sign-ins") { try await service.signInWithApple(token).status == 200 }
                try await eventually("readiness") { try await service.isReady() }
            }
        }
    }
}
