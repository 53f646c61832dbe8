import Accounts
import JSON
import Postgres
import TestSupport
import Testing

/// What a provider's event says of an identity, as its owner, an administrator and an operator see it and end it.
@Suite(.limitedConcurrency, .fixture(EventWorld.self), .timeLimit(.minutes(30))) struct BlockedIdentityTests {
    var world: EventWorld { .current }

    /// A Google event of this person's, `age` seconds ago, and its time.
    private static func deliver(
        _ type: String, of subject: String, id: String, age: Int64, reason: String? = nil, to world: EventWorld
    ) async throws -> String {
        let time = EventWorld.now - age
        let event = try EventWorld.signed(
            EventWorld.googleEvent(
                type, of: subject, id: id, [("iat", .integer(time))], members: reason.map { [("reason", $0)] } ?? []))
        #expect(try await world.service.deliverGoogleEvent(event).status == 202)
        try await eventually("the end of the event") { try await world.isDone(id) }
        return Timestamp(seconds: time).rfc3339
    }

    /// The only identity of an account, wherever it is shown.
    private static func shown(_ signedIn: Answer, key: String, in world: EventWorld) async throws -> [JSONValue] {
        let bearer = try signedIn.bearer()
        let account = try await world.service.get("/v1/account", bearer: bearer)
        let list = try await world.service.get("/v1/account/identities", bearer: bearer)
        let id = try signedIn.identityID()
        let path = "/admin/v1/accounts/\(try signedIn.accountID())"
        let record = try await world.service.administer("GET", path, bearer: key)
        let identity = try await world.service.administer("GET", "/admin/v1/identities/\(id)", bearer: key)
        let shown = [
            account.json?["identities"]?.elements?.first, list.items.first,
            record.json?["identities"]?.elements?.first, identity.json,
        ].compactMap(\.self)
        #expect(shown.map { $0["identityId"]?.string } == [id, id, id, id])
        return shown
    }

    private static func signIn(_ subject: String, in world: EventWorld) async throws -> Answer {
        try await world.service.signInWithGoogle(
            EventWorld.signed(EventWorld.googleClaims(subject, EventWorld.signedInNow)))
    }

    @Test func `a blocked identity shows since when and why, and signs in again once it is unblocked`() async throws {
        let key = try await world.scratch.adminKey("read,manage")
        let signedIn = try await world.googleAccount("kim")
        let id = try signedIn.identityID()
        let path = "/admin/v1/identities/\(id)/unblock"
        let since = try await Self.deliver(
            "account-disabled", of: "kim", id: "g1", age: 30, reason: "bulk-account", to: world)
        for identity in try await Self.shown(signedIn, key: key, in: world) {
            #expect(identity["blocked"]?.members?.map(\.name) == ["since", "reason"])
            #expect(identity["blocked"]?["since"]?.string == since)
            #expect(identity["blocked"]?["reason"]?.string == "bulk-account")
        }
        let list = ["identity", "list", "--blocked"]
        let account = try signedIn.accountID()
        let listed = try await world.scratch.run(list).expecting(0)
        #expect(listed.output == "\(id) \(account) google main kim \(since) bulk-account\n")
        let json = try await world.scratch.run(list + ["--json"])
        #expect(
            json.output == #"{"identityId":"\#(id)","accountId":"\#(account)","provider":"google","realm":"main","#
                + #""subject":"kim","blocked":{"since":"\#(since)","reason":"bulk-account"}}"# + "\n")

        let refused = try await Self.signIn("kim", in: world)
        refused.expectRefusal(403, "account_disabled")
        #expect(refused.json?["detail"]?.string == "The provider has disabled the person's account there.")

        // Once more: nothing is left to be unblocked, or to be recorded.
        for _ in 0..<2 {
            let answer = try await world.service.administer("POST", path, bearer: key, body: #"{"reason":"case 17"}"#)
            #expect(answer.status == 204, "\(answer.body)")
        }
        for identity in try await Self.shown(signedIn, key: key, in: world) { #expect(identity["blocked"] == nil) }
        #expect(try await Self.signIn("kim", in: world).status == 200)
        let recorded = try await world.service.administer(
            "GET", "/admin/v1/audit-events?type=identity_unblocked", bearer: key)
        let records = try #require(recorded.json?["items"]?.elements)
        #expect(records.map { $0["actorName"]?.string } == ["kim@support"])
        #expect(records.map { $0["reason"]?.string } == ["case 17"])
        #expect(records.map { $0["identityId"]?.string } == [id])

        // The provider blocks it again, for a reason that it keeps to itself; this time an operator acts.
        let again = try await Self.deliver("account-disabled", of: "kim", id: "g2", age: 10, to: world)
        for identity in try await Self.shown(signedIn, key: key, in: world) {
            #expect(identity["blocked"]?["since"]?.string == again)
            #expect(identity["blocked"]?["reason"]?.string == "account-disabled")
        }
        #expect(try await Self.signIn("kim", in: world).code == "account_disabled")
        let done = try await world.scratch.run(["identity", "unblock", id, "--reason", "case 18"]).expecting(0)
        #expect(done.output.isEmpty)
        #expect(try await Self.signIn("kim", in: world).status == 200)
        let byOperator = try await world.count(
            """
            SELECT count(*) FROM audit_events
            WHERE type = 'identity_unblocked' AND actor = 'operator' AND reason = 'case 18'
                AND identity_id = \(id)::uuid
            """)
        #expect(byOperator == 1)
        let none = try await world.scratch.run(list).expecting(1)
        #expect(none.output.isEmpty)
        #expect(none.error == "countersign: No identity is blocked.\n")
        #expect(try await world.scratch.run(["identity", "list"]).status == 2)
    }

    @Test func `what can't be unblocked is refused in a sentence, or with its code`() async throws {
        let unknown = "01926a3e-0000-7000-8000-000000000000"
        let missing = try await world.scratch.run(["identity", "unblock", unknown, "--reason", "a"]).expecting(1)
        #expect(missing.error == "countersign: There is no identity \(unknown).\n")
        for arguments in [[unknown], [unknown.uppercased(), "--reason", "a"], [unknown, "--reason", "two\nlines"]] {
            let ending = try await world.scratch.run(["identity", "unblock"] + arguments)
            #expect(ending.status == 2, "\(arguments)")
        }
        let (manage, read) = (
            try await world.scratch.adminKey("manage"), try await world.scratch.adminKey("read,revoke")
        )
        func unblock(_ id: String, _ body: String, by key: String) async throws -> String? {
            try await world.service.administer(
                "POST", "/admin/v1/identities/\(id)/unblock", bearer: key, body: body
            ).code
        }
        #expect(try await unblock(unknown, #"{"reason":"a"}"#, by: manage) == "not_found")
        #expect(try await unblock(unknown, "{}", by: manage) == "invalid_request")
        #expect(try await unblock(unknown, #"{"reason":"a"}"#, by: read) == "forbidden")
    }

    @Test func `a required change of credentials shows until the next sign-in`() async throws {
        let key = try await world.scratch.adminKey("read")
        let signedIn = try await world.googleAccount("kim")
        for identity in try await Self.shown(signedIn, key: key, in: world) {
            #expect(identity["credentialChangeRequired"] == nil)
        }
        _ = try await Self.deliver("account-credential-change-required", of: "kim", id: "g1", age: 30, to: world)
        for identity in try await Self.shown(signedIn, key: key, in: world) {
            #expect(identity["credentialChangeRequired"]?.bool == true)
        }
        let again = try await Self.signIn("kim", in: world).expecting(200)
        #expect(again.json?["identity"]?["credentialChangeRequired"] == nil)
        for identity in try await Self.shown(signedIn, key: key, in: world) {
            #expect(identity["credentialChangeRequired"] == nil)
        }
    }
}
