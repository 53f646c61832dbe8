import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// The statements that most requests run: the server plans each of them once for a connection. A plan for the values of
/// each execution would cost more than the execution.
@Suite(
    .fixture { try await ScratchDatabase.withMigratedPool(configure: { $0.poolSize = 1 }, $0) }, .timeLimit(.minutes(2))
)
struct HotStatementTests {
    var database: Database { .current }

    private struct Plans: Sendable {
        let statement: String
        let once: Int
        let eachTime: Int
    }

    private func plans() async throws -> [Plans] {
        try await database.query(
            "SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements ORDER BY generic_plans DESC"
        ) { row throws(PostgresError) in
            let (statement, once, eachTime) = try row.decode(String.self, Int.self, Int.self)
            return Plans(statement: statement, once: once, eachTime: eachTime)
        }
    }

    /// The person of the crowd's account 2 signs in: the first that is Apple's and not disabled.
    private static func signIn(
        _ crowd: AccountCrowd, _ identities: IdentityStore, at now: Timestamp
    ) async throws -> SessionID {
        let subject = try #require(ProviderSubject("subject-2"))
        let id = SessionID(now: now)
        let outcome = try await identities.signIn(
            VerifiedIdentity(
                key: IdentityKey(provider: .apple, realm: Realm("main"), subject: subject), email: nil,
                clientID: "com.example.lamp", authenticatedAt: now, issuedAt: now),
            newSession: NewSession(
                id: id, authenticatedAt: now, methods: [.apple], now: now, expiresAt: now.advanced(bySeconds: 86_400),
                device: nil, address: "192.0.2.7", network: "192.0.2.0/24"))
        guard case .signedIn(let account, _) = outcome else {
            Issue.record("not signed in: \(outcome)")
            return id
        }
        #expect(account.id == crowd.id(2))
        return id
    }

    @Test func `signing in, looking a session and its account up and refreshing it are planned once`() async throws {
        let crowd = try await AccountCrowd.create(3, in: database)
        let (identities, sessions) = (IdentityStore(database: database), SessionStore(database: database))
        let (accounts, refreshes) = (LiveAccounts(database: database), SessionRefreshes(database: database))
        let origin = ChangeOrigin(actor: .person, requestID: nil, network: "192.0.2.0/24")
        for round in 1...8 {
            let now = crowd.time(0).advanced(bySeconds: Int64(round) * 60)
            let id = try await Self.signIn(crowd, identities, at: now)
            let live = try #require(try await sessions.live(id, by: .at(now)))
            #expect(try await accounts.find(id, by: .at(now))?.account.id == live.session.accountID)
            let refreshed = try await refreshes.refresh(
                id, generation: live.session.generation, by: .at(now.advanced(bySeconds: 30), from: origin),
                lifetimes: SessionLifetimes(unused: 86_400), address: "192.0.2.7")
            guard case .renewed = refreshed else {
                Issue.record("not refreshed: \(refreshed)")
                continue
            }
        }
        let lone = try await plans()
        // The first execution of each is not prepared.
        let hot = lone.filter { $0.once == 7 }
        #expect(hot.count >= 4)
        for part in ["INSERT INTO sessions", "UPDATE sessions", "WHERE s.session_id =", "LEFT JOIN LATERAL"] {
            #expect(hot.contains { $0.statement.contains(part) }, "\(part)")
        }
        for plans in lone { #expect(plans.eachTime == 0, "\(plans.statement)") }

        // Many at once come in batches, of whatever size.
        for round in 10..<14 {
            let now = crowd.time(0).advanced(bySeconds: Int64(round) * 60)
            try await concurrently(0..<32) { _ in _ = try await Self.signIn(crowd, identities, at: now) }
        }
        let all = try await plans()
        #expect(all.count { $0.once > 0 && $0.statement.contains("INSERT INTO sessions") } == 1)
        for plans in all { #expect(plans.eachTime == 0, "\(plans.statement)") }
    }

    @Test func `an administrator's lists are planned for their values`() async throws {
        _ = try await AccountCrowd.create(20, in: database)
        for _ in 0..<8 {
            _ = try await AccountSearch(database: database).list(AccountFilter(), after: nil, limit: 5)
            _ = try await AuditTrail(database: database).list(AuditFilter(), before: nil, limit: 5)
            _ = try await OutboxSearch(database: database).list(status: .failed, before: nil, limit: 5)
            _ = try await ProviderEventRecords(database: database).page(before: nil, limit: 5)
        }
        let lists = try await plans().filter { $0.statement.contains("ORDER BY") && $0.eachTime > 0 }
        #expect(lists.count == 4)
        for list in lists { #expect(list.eachTime == 7 && list.once == 0, "\(list.statement)") }
    }
}
