import Foundation
import Postgres
import TestSupport
import Testing

/// Crashes after the provider has consumed a code and before its grant is stored.
@Suite(.limitedConcurrency, .fixture(World.self), .timeLimit(.minutes(30))) struct GrantCrashTests: WorldSuite {
    enum CrashPoint: CaseIterable, Sendable {
        /// The provider has issued its tokens, and its answer is on its way.
        case beforeTheAnswer
        /// The answer has arrived and is being stored.
        case beforeTheCommit
    }

    /// Posts the credential and kills the service at this point.
    private func kill(
        _ service: Countersign, at point: CrashPoint, of credential: World.Credential, person: String, _ world: World
    ) async throws {
        let issued = try await world.grants(of: person).count + 1
        switch point {
        case .beforeTheAnswer:
            try await world.sandbox.fail("/apple/auth/token", .hang, times: 1, afterwards: true)
            try await kill(service, amid: credential) { try await world.grants(of: person).count == issued }
        case .beforeTheCommit:
            try await world.scratch.withPool { database in
                try await database.transaction { transaction in
                    _ = try await transaction.execute("LOCK TABLE provider_grants IN ACCESS EXCLUSIVE MODE")
                    try await kill(service, amid: credential) {
                        let storing: SQL = "wait_event_type = 'Lock' AND query LIKE '%INSERT INTO provider_grants%'"
                        let isStoring = try await world.count(Self.connections(storing)) > 0
                        let count = try await world.grants(of: person).count
                        return isStoring && count == issued
                    }
                }
            }
            // A statement of the dead process ends when PostgreSQL finds its connection closed.
            try await eventually("the end of its connections") { try await world.count(Self.connections("true")) == 0 }
        }
    }

    /// Counts the connections of services, without those of this test.
    private static func connections(_ condition: SQL) -> SQL {
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND \(SQL.isOfService) AND \(condition)
        """
    }

    private func kill(
        _ service: Countersign, amid credential: World.Credential, when isReached: () async throws -> Bool
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            // The connection breaks before any answer: that is the test.
            group.addTask { _ = try? await service.signIn(credential.provider, credential.codeAlone) }
            try await eventually("the crash point", isReached)
            service.send(SIGKILL)
            let ending = await service.end()
            #expect(ending.status == nil)
            try await group.waitForAll()
        }
    }

    @Test(arguments: CrashPoint.allCases)
    func `killed before what a code brought is kept, the service leaves no half account, and the next sign-in works`(
        point: CrashPoint
    ) async throws {
        try await world.newPerson("kim")
        let lost = try await world.authorize("kim")
        try await kill(world.service, at: point, of: lost, person: "kim", world)
        let rows = try await world.count(
            """
            SELECT (SELECT count(*) FROM accounts) + (SELECT count(*) FROM identities)
                + (SELECT count(*) FROM provider_grants) + (SELECT count(*) FROM link_tickets)
            """)
        #expect(rows == 0)

        try await World.serve(scratch, world.sandbox) { next in
            // The phone that got no answer tries again: the code is spent, the token still valid.
            try await next.service.signIn(.apple, lost.codeAlone).expectRefusal(401, "invalid_token")
            let ticket = try await next.service.signIn(.apple, lost.both).linkTicket()
            #expect(try await next.service.post("/v1/links/cancel", ["linkTicket": .string(ticket)]).status == 204)

            let created = try await next.create(try await next.authorize("kim"), by: \.codeAlone)
            #expect(try created.text("identity.authorization") == "active")
            // The refresh token that was never stored here ends with the others.
            let access = try created.bearer()
            #expect(try await next.service.delete("/v1/account", bearer: access).status == 202)
            try await eventually("the revocation") { try await next.grants(of: "kim").allSatisfy { !$0.isLive } }
            #expect(try await next.grants(of: "kim").count == 2)
        }
    }

    @Test(arguments: CrashPoint.allCases)
    func `killed before a known person's new grant is kept, the service still has the old one`(
        point: CrashPoint
    ) async throws {
        let created = try await world.newGrantedAccount("kim")
        try await kill(world.service, at: point, of: try await world.authorize("kim"), person: "kim", world)
        #expect(try await world.count("SELECT count(*) FROM provider_grants WHERE identity_id IS NOT NULL") == 1)
        try await World.serve(scratch, world.sandbox) { next in
            let answer = try await next.service.signIn(.apple, try await next.authorize("kim").codeAlone)
            #expect(try answer.accountID() == (try created.accountID()))
            #expect(try answer.text("identity.authorization") == "active")
            #expect(try await next.count("SELECT count(*) FROM provider_grants") == 1)
        }
    }
}
