import Accounts
import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// The effects of events that were acknowledged.
@Suite(.limitedConcurrency, .fixture(EventWorld.self), .timeLimit(.minutes(30))) struct EventEffectTests {
    var world: EventWorld { .current }

    /// How long an event waits for the service depends on the machine too: what a busy one delays is some, not most.
    @Test func `most sessions end within a second of the event, and a repetition ends no later one`() async throws {
        for person in ["kim", "ada", "bob", "lee", "joe"] {
            let session = try await world.appleAccount(person)
            let other = try await world.googleAccount(person)
            #expect(try await world.service.isOpen(session))
            let event = try EventWorld.signed(EventWorld.appleEvent("consent-revoked", of: person, id: "a-\(person)"))
            try await world.service.deliverAppleEvent(event).expecting(200)
            try await eventually("the end of the session") { try await !world.service.isOpen(session) }
            #expect(try await world.service.isOpen(other))

            // The person has consented again.
            let again = try await world.service.signInWithApple(
                EventWorld.signed(EventWorld.appleClaims(person, EventWorld.signedInNow)))
            #expect(try again.text("status") == "signedIn")
            #expect(try await world.service.deliverAppleEvent(event).status == 200)
            #expect(try await world.count("SELECT count(*) FROM provider_events WHERE status = 'pending'") == 0)
            #expect(try await world.service.isOpen(again))
        }
        #expect(try await world.count("SELECT count(*) FROM provider_events") == 5)
        // By the service's own clock.
        let prompt: SQL = "FROM provider_events WHERE processed_at - received_at < interval '1 second'"
        #expect(try await world.count("SELECT count(*) \(prompt)") >= 3)
    }

    @Test func `what a provider reports and the feed has no event for is found in the trail`() async throws {
        let (apple, google) = (try await world.appleAccount("kim"), try await world.googleAccount("kim"))
        let key = try await world.scratch.adminKey("read")
        func read(_ target: String) async throws -> JSONValue {
            let answer = try await world.service.administer("GET", "/admin/v1/\(target)", bearer: key).expecting(200)
            return try JSONValue(parsing: Array(answer.body.utf8))
        }
        let since = Timestamp(seconds: EventWorld.now - 60).rfc3339
        for type in ["consent-revoked", "email-disabled"] {
            let event = try EventWorld.signed(EventWorld.appleEvent(type, of: "kim", id: type))
            #expect(try await world.service.deliverAppleEvent(event).status == 200)
        }
        for type in ["account-disabled", "account-credential-change-required"] {
            let event = try EventWorld.signed(EventWorld.googleEvent(type, of: "kim", id: type))
            #expect(try await world.service.deliverGoogleEvent(event).status == 202)
        }
        try await eventually("the end of the events") {
            try await world.count("SELECT count(*) FROM provider_events WHERE status = 'done'") == 4
        }
        let trail = try await read("audit-events?actor=provider&since=\(since)&limit=200")["items"]?.elements ?? []
        func accounts(_ types: String...) -> [String] {
            types.flatMap { type in
                trail.filter { $0["type"]?.string == type }.compactMap { $0["accountId"]?.string }
            }
        }
        let (ofApple, ofGoogle) = (try apple.accountID(), try google.accountID())
        #expect(accounts("authorization_revoked", "email_undeliverable") == [ofApple, ofApple])
        #expect(accounts("identity_blocked", "credential_change_required") == [ofGoogle, ofGoogle])

        // As the page on the feed says: the identity shows them, and only the end of the session has an event.
        let identity = try #require(try await read("accounts/\(ofApple)")["identities"]?.elements?.first)
        #expect(identity["authorization"]?.string == "revoked" && identity["emailDeliverable"]?.bool == false)
        let blocked = try #require(try await read("accounts/\(ofGoogle)")["identities"]?.elements?.first)
        #expect(blocked["blocked"]?["reason"]?.string == "account-disabled")
        var types: Set<String> = []
        try await eventually("the end of the session is in the feed") {
            types = Set(try await read("feed")["items"]?.elements?.compactMap { $0["type"]?.string } ?? [])
            return types.contains("session.revoked")
        }
        #expect(types == ["account.created", "identity.linked", "session.revoked"])
    }

    @Test func `accepted events are counted, of known and of unknown types`() async throws {
        let unknown = try EventWorld.signed(EventWorld.appleEvent("account-frozen", of: "kim", id: "a1"))
        for _ in 1...2 { #expect(try await world.service.deliverAppleEvent(unknown).status == 200) }
        let forged = try EventWorld.signed(
            EventWorld.appleEvent("consent-revoked", of: "kim", id: "a2"), by: TokenMint.otherSigner)
        #expect(try await world.service.deliverAppleEvent(forged).status == 400)
        var page = ""
        try await eventually("the end of the event") {
            page = try await world.service.privateGet("/metrics").text
            return page.contains(#"outcome="unknown_type""#)
        }
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("countersign_provider_events_total{") }
        for outcome in ["stored", "repeated", "refused", "unknown_type"] {
            let line = lines.first { $0.contains(#"outcome="\#(outcome)""#) }
            #expect(line?.hasSuffix(" 1") == true, "\(outcome): \(lines)")
            #expect(line?.contains(#"provider="apple""#) == true)
            let reason = outcome == "refused" ? "signature_mismatch" : "-"
            #expect(line?.contains(#"reason="\#(reason)""#) == true, "\(line ?? "")")
        }
    }

    // MARK: Crashes

    @Test func `killed between storing and acting, the next process acts`() async throws {
        let apple = try await world.appleAccount("kim")
        let google = try await world.googleAccount("kim")
        try await world.scratch.withPool { database in
            try await database.transaction { transaction in
                // The worker that processes the events waits for these locks.
                _ = try await transaction.execute("SELECT FROM accounts FOR UPDATE")
                let first = try EventWorld.signed(EventWorld.appleEvent("consent-revoked", of: "kim", id: "a1"))
                let second = try EventWorld.signed(EventWorld.googleEvent("sessions-revoked", of: "kim", id: "g1"))
                #expect(try await world.service.deliverAppleEvent(first).status == 200)
                #expect(try await world.service.deliverGoogleEvent(second).status == 202)
                try await eventually("a worker that waits") { try await transaction.isWaitedFor() }
                world.service.send(SIGKILL)
                #expect(await world.service.end().status == nil)
            }
        }
        #expect(try await world.count("SELECT count(*) FROM provider_events WHERE status = 'pending'") == 2)
        #expect(try await world.count("SELECT count(*) FROM sessions WHERE ended_at IS NOT NULL") == 0)

        try await Countersign.serve(world.settings) { next in
            for session in [apple, google] {
                try await eventually("the end of the session") { try await !next.isOpen(session) }
            }
            try await eventually("the end of the events") {
                try await world.count("SELECT count(*) FROM provider_events WHERE status = 'done'") == 2
            }
            #expect(try await world.count("SELECT count(*) FROM audit_events WHERE jti IN ('a1', 'g1')") == 2)
        }
    }
}
