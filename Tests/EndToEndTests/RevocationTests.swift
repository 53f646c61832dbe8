import Foundation
import JSON
import Postgres
import Synchronization
import TestSupport
import Testing

/// Revocations that have to be carried out whatever happens to the process that accepted them.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct RevocationTests: WorldSuite {
    /// The address of all processes of a test, so that each accepts the access tokens of the others.
    private static let address = ["server.publicUrl": "https://lamp.example.com"]

    private static func settings(_ world: World, _ more: Countersign.Settings = [:]) throws -> Countersign.Settings {
        try World.settings(world.scratch, world.sandbox).merging(address) { _, new in new }.merging(more) { _, new in
            new
        }
    }

    /// The access tokens of people who delete their accounts.
    private func leavers(_ count: Int, _ world: World) async throws -> [String] {
        // Fewer at once than the codes that a process exchanges by themselves.
        let lanes = 8
        let shares = try await concurrently(0..<lanes) { lane -> [String] in
            var leavers: [String] = []
            for number in stride(from: lane, to: count, by: lanes) {
                leavers.append(try await world.newGrantedAccount("leaver-\(number)").bearer())
            }
            return leavers
        }
        return shares.flatMap { $0 }
    }

    /// Deletes an account; 401 means that an earlier call has deleted it.
    private func delete(_ leaver: String, at service: Countersign) async throws {
        var answer = try await service.delete("/v1/account", bearer: leaver)
        // A busy machine got to it later than the service begins one.
        for _ in 0..<10 where answer.status == 503 { answer = try await service.delete("/v1/account", bearer: leaver) }
        #expect([202, 401].contains(answer.status), "\(answer.text)")
    }

    private func pending(_ world: World) async throws -> Int64 {
        try await world.count("SELECT count(*) FROM outbox WHERE status = 'pending'")
    }

    /// Expects that every authorization was revoked, by the provider's records and by ours.
    private func expectAllRevoked(
        _ count: Int, _ world: World, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let authorizations = try await world.sandbox.authorizations(.apple)
        #expect(authorizations.count == count, sourceLocation: location)
        #expect(authorizations.allSatisfy { !$0.isConsented }, sourceLocation: location)
        let grants = authorizations.flatMap(\.grants)
        #expect(grants.count == count, sourceLocation: location)
        #expect(grants.allSatisfy { !$0.isLive && $0.endedBy == .revoke }, sourceLocation: location)
        // One row for each account, no more and no fewer, and no token is kept.
        let done = try await world.count("SELECT count(*) FROM outbox WHERE status = 'done' AND last_error IS NULL")
        #expect(done == Int64(count), sourceLocation: location)
        #expect(try await world.count("SELECT count(*) FROM outbox") == Int64(count), sourceLocation: location)
        let rest = try await world.count(
            "SELECT (SELECT count(*) FROM provider_grants) + (SELECT count(*) FROM accounts)")
        #expect(rest == 0, sourceLocation: location)
    }

    @Test func `killed twenty times amid its work, the service ends every authorization and loses none`() async throws {
        let kills = 20
        let people = 3 * kills
        try await World.run(Self.address) { world in
            let leavers = try await leavers(people, world)
            await world.service.stop()
            // Some answers come late, so that a kill can fall between the revocation and our record of it.
            try await world.sandbox.fail("/apple/auth/revoke", .delay(milliseconds: 20), times: 40, afterwards: true)
            try await world.sandbox.fail("/apple/auth/revoke", .delay(milliseconds: 20), times: 20)
            for kill in 0..<kills {
                let service = try await Countersign.start(Self.settings(world))
                let calls = try await world.revokedTokens().count
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for leaver in leavers[(3 * kill)..<(3 * kill + 3)] {
                        // Answered or not, each account is deleted once more at the end.
                        group.addTask { _ = try? await service.delete("/v1/account", bearer: leaver) }
                    }
                    // One or two calls later, and up to 30 ms.
                    _ = try await world.sandbox.history(
                        path: "/apple/auth/revoke", count: calls + .random(in: 1...2), wait: 60)
                    try await Task.sleep(for: .microseconds(.random(in: 0...30_000)))
                    service.send(SIGKILL)
                    let ending = await service.end()
                    #expect(ending.status == nil)
                    try await group.waitForAll()
                }
                // Instead of a wait until the claims of the dead process lapse, which the soak has.
                try await world.scratch.execute("UPDATE outbox SET claimed_until = NULL WHERE status = 'pending'")
            }
            try await world.sandbox.clearFaults()
            try await Countersign.serve(Self.settings(world)) { service in
                for leaver in leavers { try await delete(leaver, at: service) }
                try await eventually("the end of all revocations") { try await pending(world) == 0 }
            }
            try await expectAllRevoked(people, world)
        }
    }

    @Test(.world)
    func `a revocation has an identity, and one that a ticket left behind an id that no identity has`() async throws {
        let key = try await world.adminKey("read,revoke")
        let owner = try await world.newGrantedAccount("owner")
        let identity = try owner.identityID()
        let asked = try await service.administer(
            "POST", "/admin/v1/identities/\(identity)/revoke", bearer: key, body: #"{"reason":"a test"}"#)
        #expect(asked.status == 202)
        #expect(asked.body.contains(#""identityId":"\#(identity)""#))

        try await world.newPerson("stray")
        let credential = try await world.authorize("stray", .apple)
        let stray = try await retryWhenLate { try await service.signIn(.apple, credential.codeAlone) }
        try await service.post("/v1/links/cancel", ["linkTicket": .string(stray.linkTicket())]).expecting(204)
        let left = "SELECT count(*) FROM outbox WHERE kind = 'revocation' AND identity_id IS NULL" as SQL
        try await eventually("the revocation of what the ticket held") { try await world.count(left) == 1 }
        let list = try await service.administer("GET", "/admin/v1/revocations", bearer: key)
        let items = try #require(try JSONValue(parsing: Array(list.body.utf8))["items"]?.elements)
        #expect(items.count == 2)
        let ids = items.map { ($0["identityId"]?.string, $0["revocationId"]?.string) }
        #expect(ids.contains { $0.0 == identity })
        #expect(ids.contains { $0.0 != nil && $0.0 == $0.1 })
    }

    // MARK: The provider is away

    /// Deletes the account while the provider can't be asked, and waits until the service has seen that.
    private func deleteDuringOutage(_ access: String, _ world: World) async throws {
        try await world.sandbox.fail("/apple/auth/revoke", .status(503))
        #expect(try await world.service.delete("/v1/account", bearer: access).status == 202)
        try await eventually("a revocation that failed") {
            try await world.count("SELECT count(*) FROM outbox WHERE last_error = 'http_503' AND attempts > 0") == 1
        }
    }

    @Test(.world)
    func `a person who returns while the revocation is pending ends up in the provider's state`() async throws {
        let old = try await world.newGrantedAccount("kim")
        try await deleteDuringOutage(try old.bearer(), world)

        let new = try await world.create(try await world.authorize("kim"), by: \.codeAlone)
        #expect(try new.accountID() != (try old.accountID()))
        #expect(try new.text("identity.authorization") == "active")
        let access = try new.bearer()
        #expect(try await world.grants(of: "kim").map(\.isLive) == [true, true])

        // The revocation that comes now ends the new authorization with the old one, and the service detects that. The
        // person stays signed in.
        try await world.sandbox.clearFaults()
        try await eventually("the end of the authorization") {
            try await world.count("SELECT count(*) FROM identities WHERE authorization_status = 'revoked'") == 1
        }
        #expect(try await service.get("/v1/account", bearer: access).status == 200)
        #expect(try await pending(world) == 0)
        // An attempt is counted after it has been recorded.
        try await eventually("its count") {
            try await service.metric(
                "countersign_revocation_attempts_total", #"provider="apple""#, #"outcome="done""#) == 1
        }
        #expect(try await world.grants(of: "kim").map(\.isLive) == [false, false])
        let token = try await service.signIn(.apple, try await world.authorize("kim").tokenAlone)
        #expect(try token.text("identity.authorization") == "revoked")
        #expect(try token.accountID() == (try new.accountID()))

        let code = try await service.signIn(.apple, try await world.authorize("kim").codeAlone)
        #expect(try code.text("identity.authorization") == "active")
        #expect(try await world.grants(of: "kim").map(\.isLive) == [false, false, true])
    }

    // MARK: The key ring

    @Test
    func `a key that only reads still opens what it sealed, and without it a revocation waits for it`() async throws {
        func line(_ id: String) -> String {
            "\(id) \(Data((0..<32).map { _ in .random(in: 0...255) }).base64EncodedString())\n"
        }
        let (old, new) = (line("old"), line("new"))
        let rings = [
            "before": try World.privateFile("before", old), "rotated": try World.privateFile("rotated", new + old),
            "after": try World.privateFile("after", new),
        ]
        func serve<T: Sendable>(_ ring: String, _ world: World, _ body: (World) async throws -> T) async throws -> T {
            try await Countersign.serve(Self.settings(world, ["keyring.path": rings[ring] ?? ""])) { service in
                try await body(World(service: service, sandbox: world.sandbox, scratch: world.scratch))
            }
        }
        try await World.run(Self.address.merging(["keyring.path": rings["before"] ?? ""]) { _, new in new }) { world in
            let kim = try await world.newGrantedAccount("kim").bearer()
            let lee = try await world.newGrantedAccount("lee").bearer()
            await world.service.stop()

            try await serve("rotated", world) { world in
                #expect(try await world.service.delete("/v1/account", bearer: kim).status == 202)
                try await eventually("a revocation") { try await pending(world) == 0 }
                #expect(try await world.grants(of: "kim").map(\.endedBy) == [.revoke])
                try await deleteDuringOutage(lee, world)
            }
            try await world.sandbox.clearFaults()
            // It does not start without the keys that sign; without their rows it makes new ones.
            let refusal = await #expect(throws: SetUpFailure.self) { try await serve("after", world) { _ in } }
            #expect(refusal?.description.contains("The key ring lacks a key") == true)
            try await world.scratch.execute("DELETE FROM signing_keys")
            try await serve("after", world) { world in
                try await eventually("a revocation without its key") {
                    try await world.count(
                        "SELECT count(*) FROM outbox WHERE status = 'pending' AND last_error = 'key_missing'") == 1
                }
                // Other people are served under the new key.
                try await world.newGrantedAccount("sam")
                #expect(try await world.grants(of: "lee").map(\.isLive) == [true])
            }
            try await serve("rotated", world) { world in
                try await eventually("a revocation with its key") { try await pending(world) == 0 }
                #expect(try await world.grants(of: "lee").map(\.endedBy) == [.revoke])
            }
        }
    }
}
