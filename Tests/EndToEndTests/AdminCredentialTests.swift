import Accounts
import HTTPAPI
import HTTPServer
import Postgres
import TestSupport
import Testing

/// Authorization of the admin API: each operation with each kind of credential, over the wire.
@Suite(.limitedConcurrency, .world(OAuthWorld.settings), .serialized, .timeLimit(.minutes(30)))
struct AdminCredentialTests: WorldSuite {
    /// An id of nothing.
    private static let unknownID = "01a1fc41-9b43-7a01-afff-a0f49219c796"

    private func name(_ operation: AdminAPI.Operation) -> String {
        "\(operation.route.method.rawValue) \(operation.route.template) for \(operation.scope.rawValue)"
    }

    @Test func `openapi.yaml names the operations of the table and the scope of each`() async throws {
        let table = try await world.administration().map(name)
        let documented = try APIDocument.read().administration.map { "\($0) for \($0.scope ?? "nothing")" }
        #expect(table.sorted() == documented.sorted())
        #expect(Set(table).count == table.count && table.count > 15)
    }

    @Test func `a malformed, unknown or revoked key, or a user's token, opens no operation and changes nothing`()
        async throws
    {
        let created = try await world.newAccount("victim")
        let (access, refresh) = (try created.bearer(), try created.refreshToken())
        let ids = [
            "{accountId}": try created.accountID(), "{sessionId}": try created.sessionID(),
            "{identityId}": try created.identityID(), "{clientId}": try await world.linkingClient().id,
        ]
        let key = try await world.adminKey("read,revoke,manage")
        let refused: [String: String?] = [
            "none": nil, "empty": "Bearer ", "malformed": "Bearer csa_", "short": "Bearer csa_AAAA",
            "no base64url": "Bearer csa_" + String(repeating: "+", count: 43),
            "unknown": "Bearer csa_" + String(repeating: "A", count: 43),
            "revoked": "Bearer " + (try await world.revokedAdminKey()),
            "a key without its prefix": "Bearer " + key.dropFirst(4), "a key and more": "Bearer \(key)A",
            "a key in capitals": "Bearer " + key.uppercased(), "a key as Basic": "Basic \(key)", "a bare key": key,
            "an access token": "Bearer \(access)", "a refresh token": "Bearer \(refresh)",
        ]
        let rows = try await world.rows()
        for operation in try await world.administration() {
            let path = ids.reduce(operation.route.template) { $0.replacing($1.key, with: $1.value) }
                .replacing(/\{\w+\}/, with: Self.unknownID)
            for (kind, authorization) in refused {
                let answer = try await service.exchange(
                    service.privatePort, operation.route.method.rawValue, path, authorization: authorization,
                    body: World.adminBody(operation.route.template))
                answer.expectRefusal(401, "invalid_credentials", "\(kind): \(name(operation))")
                #expect(answer["WWW-Authenticate"] == "Bearer", "\(kind): \(name(operation))")
            }
            // A caller without a key learns nothing about the form of a valid request.
            let malformed = try await service.administer(
                operation.route.method.rawValue, path.replacing(Self.unknownID, with: "x") + "?limit=0", bearer: nil,
                body: "{")
            #expect(malformed.status == 401, "\(name(operation))")
        }
        #expect(try await world.rows() == rows)
        #expect(try await service.get("/v1/account", bearer: access).texts("identities").isEmpty)
        #expect(try await service.get("/v1/account", bearer: access).status == 200)
    }

    @Test func `a revoked key that somebody still tries is recorded by its name, and counted`() async throws {
        let (revoked, unknown) = (try await world.revokedAdminKey(), "csa_" + String(repeating: "B", count: 43))
        func series(_ reason: String) async throws -> Int {
            let name = #"countersign_admin_key_refusals_total{reason="\#(reason)"} "#
            let page = try await service.privateGet("/metrics").text
            let line = try #require(page.split(separator: "\n").first { $0.hasPrefix(name) })
            return try #require(Int(line.dropFirst(name.count)))
        }
        let before = (revoked: try await series("revoked"), unknown: try await series("unknown"))
        for key in [revoked, revoked, unknown] {
            #expect(try await service.administer("GET", "/admin/v1/accounts", bearer: key).status == 401)
        }
        // At the console too.
        _ = try await ConsoleVisit(world).signIn(with: revoked)
        #expect(try await series("revoked") == before.revoked + 3)
        #expect(try await series("unknown") == before.unknown + 1)
        func recorded(_ condition: SQL) async throws -> Int64 {
            try await world.count(
                """
                SELECT COALESCE(sum(occurrences), 0) FROM audit_events
                WHERE type = 'admin_key_rejected' AND network = '127.0.0.0/24' AND \(condition)
                """)
        }
        try await eventually("the sums") {
            let revoked = try await recorded("reason = 'revoked' AND actor_name IS NOT NULL")
            let unknown = try await recorded("reason = 'unknown' AND actor_name IS NULL")
            return revoked >= 3 && unknown >= 1
        }
        #expect(!service.log.contains(revoked))
    }

    @Test(arguments: ["read", "revoke", "manage", "read,revoke", "read,manage", "revoke,manage", "read,revoke,manage"])
    func `a key opens what its scopes name, and nothing else`(_ scopes: String) async throws {
        let key = try await world.adminKey(scopes)
        let held = Set(scopes.split(separator: ",").compactMap { AdminKey.Scope(rawValue: String($0)) })
        for operation in try await world.administration() {
            let (method, template) = (operation.route.method, operation.route.template)
            let answer = try await service.administer(
                method.rawValue, template.replacing(/\{\w+\}/, with: Self.unknownID), bearer: key,
                body: method == .delete ? nil : World.adminBody(template))
            if !held.isDisjoint(with: operation.scope.openers) {
                // The audit trail of a deleted account can be read, so any id has one, which may be empty.
                let isList = !template.contains("{") || template.hasSuffix("/audit-events")
                let creates = isList && operation.route.method == .post
                #expect(answer.status == (creates ? 201 : isList ? 200 : 404), "\(name(operation)): \(answer.body)")
            } else {
                answer.expectRefusal(403, "forbidden", "\(name(operation))")
            }
        }
    }

    @Test func `no operation of the admin API answers on the public listener, nor any other on the private one`()
        async throws
    {
        let key = try await world.adminKey("read,revoke,manage")
        let document = try APIDocument.read()
        for operation in document.operations {
            let otherPort = operation.isPrivate ? service.port : service.privatePort
            let answer = try await service.exchange(
                otherPort, operation.method, operation.path(Self.unknownID), authorization: "Bearer \(key)",
                body: operation.hasBody ? World.adminBody(operation.template) : nil)
            answer.expectRefusal(404, "not_found", "\(operation)")
        }
        #expect(document.administration.count > 15)
    }
}
