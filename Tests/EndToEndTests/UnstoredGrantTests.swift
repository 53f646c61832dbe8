import Foundation
import Postgres
import TestSupport
import Testing

/// The database goes away between the exchange of a code and the storing of what it brought.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct UnstoredGrantTests {
    /// Runs a service with a person whose code is exchanged, in vain: the database has stopped meanwhile.
    private func service(_ body: (PrivateCluster, World) async throws -> Void) async throws {
        try await World.onCluster { cluster, world in
            let service = world.service
            try await world.newPerson("kim")
            let credential = try await world.authorize("kim")
            // The answer is held until the database is away, within the ten seconds of a code on its own.
            try await world.sandbox.fail("/apple/auth/token", .delay(milliseconds: 60_000), times: 1, afterwards: true)
            async let signIn = service.signIn(.apple, credential.codeAlone)
            try await eventually("the exchange") { try await world.grants(of: "kim").count == 1 }
            // At once: a shutdown may take longer than they do.
            try await cluster.crash()
            try await world.sandbox.clearFaults()
            try await signIn.expectRefusal(503, "temporarily_unavailable")
            #expect(try await world.grants(of: "kim").map(\.isLive) == [true])
            #expect(service.log.contains("stray grant kept until the database is back"))
            try await body(cluster, world)
        }
    }

    @Test func `an authorization that could not be stored is revoked when the database is back`() async throws {
        try await service { cluster, world in
            _ = try await cluster.start()
            try await eventually("the revocation") { try await world.grants(of: "kim").map(\.endedBy) == [.revoke] }
            #expect(try await world.recorded("type = 'revocation_requested' AND reason = 'not_stored'") == 1)
            // The person may come again, and has an authorization that nothing ends.
            let created = try await world.create(try await world.authorize("kim"), by: \.codeAlone)
            #expect(try created.text("identity.authorization") == "active")
        }
    }

    @Test func `a process that ends while the database is away says what it loses`() async throws {
        try await service { _, world in
            let ending = await world.service.stop()
            #expect(ending.status == 0)
            #expect(ending.error.contains("stray grants lost, the database is away"))
        }
    }
}
