import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// Concurrent changes to one person's grants: all of them end, and leave what some serial order would have left.
@Suite(.fixture { try await LifeCycleFixture.run(poolSize: 12, $0) }, .timeLimit(.minutes(15)))
struct GrantContentionTests {
    var fixture: LifeCycleFixture { .current }

    private static func grant(_ number: Int, of fixture: LifeCycleFixture) -> NewGrant {
        NewGrant(
            clientID: ProviderClientID(LifeCycleFixture.appleClient), refreshToken: "r\(number)",
            exchangedAt: fixture.clock.now(), checkAt: fixture.clock.now())
    }

    @Test func `grants that are kept, found dead and revoked at once wait for each other in one order`() async throws {
        // A revocation of the person is under way, and a grant of theirs is being checked.
        let gone = try await fixture.account(.apple)
        try await fixture.deleteAccount(gone)
        let start = fixture.clock.now()
        let revocation = try #require(
            try await fixture.storage.revocations.claim(at: .apple, by: .at(start), lease: 30, limit: 1).work.first)
        let account = try await fixture.create(try await fixture.ticket(try await fixture.consent(.apple), .token))
        let key = try #require(account.identity?.key)
        let grants = fixture.storage.grants
        for round in 1...10 {
            // After an hour a sign-in writes to the identity too.
            try await fixture.advance(by: 3601)
            let now = fixture.clock.now()
            #expect(try await grants.keep(Self.grant(round, of: fixture), for: key, by: .at(fixture.clock.now())))
            let check = try #require(
                try await grants.takeChecks(by: .at(now), next: now.advanced(bySeconds: 1), limit: 1).work.first)
            let consent = try await fixture.consent(.apple)
            let works: [@Sendable () async throws -> Void] = (0..<20).map { number in
                switch number % 5 {
                case 0:
                    {
                        _ = try await grants.keep(
                            Self.grant(100 * round + number, of: fixture), for: key, by: .at(fixture.clock.now()))
                    }
                case 1: { _ = try await grants.noteDead(check, reason: "invalid_grant", by: .at(now)) }
                case 2: { try await fixture.storage.revocations.finish(revocation, by: .at(now)) }
                case 3: { _ = try await fixture.signIn(consent, .token) }
                default: { _ = try await grants.takeChecks(by: .at(now), next: now, limit: 8) }
                }
            }
            try await concurrently(works) { try await $0() }
            // The grant that was kept last authorizes the identity.
            #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 1)
            #expect(try await fixture.authorization(account.identity) == "active")
        }
        #expect(try await fixture.revocationRows().map(\.status) == ["done"])
    }

    @Test func `tickets that are cancelled, swept and spent at once leave one holder of each grant`() async throws {
        for _ in 1...5 {
            var tickets: [LinkRequired] = []
            for _ in 1...6 { tickets.append(try await fixture.ticket(try await fixture.consent(.apple))) }
            let shared = tickets
            let works: [@Sendable () async throws -> Void] = (0..<18).map { number in
                let ticket = shared[number % 6]
                switch number % 3 {
                case 0:
                    return { try await fixture.service.tickets.cancel(linkTicket: ticket.linkTicket, by: fixture.call) }
                case 1: return { _ = try await fixture.sweeper.sweep() }
                default:
                    return {
                        do {
                            _ = try await fixture.create(ticket)
                        } catch SignInFailure.linkTicketExpired, SignInFailure.identityAlreadyLinked,
                            SignInFailure.emailTaken
                        {}
                    }
                }
            }
            try await concurrently(works) { try await $0() }
            let accounts = try await fixture.count("accounts")
            #expect(accounts <= 1)
            #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") <= accounts)
            try await fixture.revokeDue()
            #expect(try await fixture.count("provider_grants WHERE revocation_id IS NOT NULL") == 0)
            _ = try await fixture.database.execute("DELETE FROM provider_grants")
            _ = try await fixture.database.execute("DELETE FROM link_tickets")
            _ = try await fixture.database.execute("DELETE FROM accounts")
        }
    }

    @Test func `deletions, sign-ins with codes and revocations at once leave no grant without a holder`() async throws {
        for _ in 1...5 {
            let account = try await fixture.account(.apple)
            var consents: [LifeCycleFixture.Consent] = []
            for _ in 1...6 { consents.append(try await fixture.consent(.apple)) }
            let session = try await fixture.opened(account)
            var works: [@Sendable () async throws -> Void] = consents.map { consent in
                { _ = try await fixture.signIn(consent) }
            }
            works.append { try await fixture.service.accounts.delete(accountOf: session, by: fixture.call) }
            works.append { try await fixture.revokeDue() }
            works.append { _ = try await fixture.checks.checkDue() }
            try await concurrently(works) { try await $0() }
            #expect(try await fixture.count("accounts") == 0)
            #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 0)
            try await fixture.advance(by: Lifetimes.linkTicketSeconds)
            while try await fixture.sweeper.sweep() > 0 {}
            try await fixture.revokeDue()
            // No token that was issued to the service is live and forgotten.
            #expect(try await fixture.count("provider_grants") == 0)
            #expect(try await fixture.grants(.apple).allSatisfy { !$0.isLive })
        }
    }

    @Test func `sign-ins, an unlinking, a replacement and the deletion of one account end in any order`() async throws {
        for _ in 1...5 {
            let apple = try await fixture.account(.apple)
            let google = try await fixture.bind(try await fixture.ticket(try await fixture.consent(.google)), to: apple)
            let session = try await fixture.opened(apple)
            let other = try await fixture.ticket(try await fixture.consent(.google, "ada"))
            let consents = [try await fixture.consent(.apple), try await fixture.consent(.google)]
            let linked = try #require(google.identity?.id)
            // After an hour a sign-in writes to the identity too; the session stays fresh enough for the rest.
            _ = try await fixture.database.execute(
                "UPDATE identities SET last_sign_in_at = last_sign_in_at - interval '1 hour'")
            var works: [@Sendable () async throws -> Void] = (0..<16).map { number in
                { _ = try await fixture.signIn(consents[number % 2], .token) }
            }
            works.insert(
                {
                    do {
                        try await fixture.service.accounts.unlink(linked, of: session, by: fixture.call)
                    } catch SignInFailure.identityNotFound, SignInFailure.invalidSession {}
                }, at: 4)
            works.insert(
                {
                    do {
                        _ = try await fixture.bind(other, to: apple, replacing: true)
                    } catch SignInFailure.invalidSession {}
                }, at: 8)
            works.insert(
                {
                    do {
                        try await fixture.service.accounts.delete(accountOf: session, by: fixture.call)
                    } catch SignInFailure.invalidSession {}
                }, at: 12)
            try await concurrently(works) { try await $0() }
            for table in ["accounts", "identities", "sessions"] as [SQL] {
                #expect(try await fixture.count(table) == 0)
            }
            #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 0)
            try await fixture.revokeDue()
            _ = try await fixture.database.execute("DELETE FROM provider_grants")
            _ = try await fixture.database.execute("DELETE FROM link_tickets")
        }
    }
}
