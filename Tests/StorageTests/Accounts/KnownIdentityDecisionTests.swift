import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// The statement that signs people in decides as ``KnownIdentityDecision`` does.
@Suite struct KnownIdentityDecisionTests {
    private static let issuedAt = Timestamp(seconds: 1_800_000_000)
    private static let authenticatedAt = issuedAt.advanced(bySeconds: -100_000)

    /// What the rows of an account and its identity say.
    private struct Facts: Sendable {
        let cutoff: ProofCutoff
        let isBlocked: Bool
        let status: Account.Status

        var decision: KnownIdentityDecision {
            KnownIdentityDecision(
                issuedAt: issuedAt, authenticatedAt: authenticatedAt, cutoff: cutoff, isBlocked: isBlocked,
                status: status)
        }

        /// None, a second before, at the time itself, within its second, a second after.
        private static func cutoffs(around time: Timestamp) -> [Timestamp?] {
            [
                nil, time.advanced(bySeconds: -1), time, Timestamp(microseconds: time.microseconds + 999_999),
                time.advanced(bySeconds: 1),
            ]
        }

        static let all: [Facts] = cutoffs(around: issuedAt).flatMap { tokens in
            cutoffs(around: authenticatedAt).flatMap { authentications in
                let cutoff = ProofCutoff(tokens: tokens, authentications: authentications)
                return [false, true].flatMap { isBlocked in
                    Account.Status.allCases.map { Facts(cutoff: cutoff, isBlocked: isBlocked, status: $0) }
                }
            }
        }
    }

    /// One account with each combination of facts.
    private static func crowd(of facts: [Facts], in database: Database) async throws -> AccountCrowd {
        let crowd = try await AccountCrowd.create(facts.count, in: database)
        let ids = facts.indices.map { crowd.id($0) as AccountID }
        let changed = try await database.execute(
            """
            WITH facts AS (
                SELECT *
                FROM unnest(\(ids), \(facts.map(\.status.rawValue)), \(facts.map(\.isBlocked)),
                    \(facts.map(\.cutoff.tokens)), \(facts.map(\.cutoff.authentications))
                ) AS f (id, status, is_blocked, tokens, authentications)
            ), account AS (
                UPDATE accounts a
                SET status = f.status, disabled_reason = CASE f.status WHEN 'disabled' THEN 'administrator' END
                FROM facts f
                WHERE a.account_id = f.id
            )
            UPDATE identities i
            SET not_before = f.tokens, auth_not_before = f.authentications,
                blocked_at = CASE WHEN f.is_blocked THEN i.created_at END
            FROM facts f
            WHERE i.account_id = f.id
            """)
        #expect(changed == facts.count)
        return crowd
    }

    private static func signIn(_ number: Int, at identities: IdentityStore) async throws -> IdentitySignIn {
        let now = issuedAt.advanced(bySeconds: 60)
        return try await identities.signIn(
            VerifiedIdentity(
                key: IdentityKey(
                    provider: number.isMultiple(of: 2) ? .apple : .google, realm: Realm("main"),
                    subject: try #require(ProviderSubject("subject-\(number)"))),
                email: nil, clientID: "com.example.lamp", authenticatedAt: authenticatedAt, issuedAt: issuedAt),
            newSession: NewSession(
                id: SessionID(now: now), authenticatedAt: authenticatedAt, methods: [.apple], now: now,
                expiresAt: now.advanced(bySeconds: 86_400), device: nil, address: nil))
    }

    private static func expect(_ outcome: IdentitySignIn, for facts: Facts, _ crowd: AccountCrowd, _ number: Int) {
        switch (facts.decision, outcome) {
        case (.active, .signedIn(let account, _)): #expect(account.id == crowd.id(number))
        case (.disabled, .disabled(let id, _)), (.blocked, .blocked(let id, _)), (.outdated, .outdated(let id, _)):
            #expect(id == crowd.id(number))
        default: Issue.record("\(facts): \(outcome)")
        }
    }

    @Test func `the rule and the statement agree on every combination of facts, alone and in a batch`() async throws {
        let all = Facts.all
        #expect(Set(all.map(\.decision)) == Set(KnownIdentityDecision.allCases))
        try await ScratchDatabase.withMigratedPool { database in
            let crowd = try await Self.crowd(of: all, in: database)
            let identities = IdentityStore(database: database)
            for (number, facts) in all.enumerated() {
                Self.expect(try await Self.signIn(number, at: identities), for: facts, crowd, number)
            }
            let outcomes = try await concurrently(all.indices) { try await Self.signIn($0, at: identities) }
            for (number, outcome) in outcomes.enumerated() { Self.expect(outcome, for: all[number], crowd, number) }
            let opened = try await database.query(
                "SELECT count(*) FROM sessions WHERE auth_time = \(Self.authenticatedAt)", as: Int.self)
            #expect(opened == [2 * all.count { $0.decision == .active }])
        }
    }
}
