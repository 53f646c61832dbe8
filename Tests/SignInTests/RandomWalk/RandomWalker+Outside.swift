import Accounts
import Postgres
import SignIn
import Storage
import TestSupport

/// What others do: whoever runs the service, its workers, the providers, and time.
extension RandomWalker {
    /// As an operator disables an account: with it end its sessions.
    mutating func disable() async throws {
        guard let id = try? await liveSession().accountID else { throw Idle() }
        let now = world.clock.now()
        try await world.database.transaction(retries: 2) { transaction in
            _ = try await transaction.execute("SELECT FROM accounts WHERE account_id = \(id) FOR UPDATE")
            let disabled = try await transaction.execute(
                """
                UPDATE accounts
                SET status = 'disabled', disabled_reason = 'operator'
                WHERE account_id = \(id) AND status = 'active'
                """)
            guard disabled == 1 else { throw Idle() }
            _ = try await transaction.execute(
                """
                UPDATE sessions
                SET ended_at = \(now), end_reason = 'account_disabled'
                WHERE account_id = \(id) AND ended_at IS NULL
                """)
        }
        world.memory.remember(disabled: id)
    }

    /// As an operator enables one: if there is a way into it.
    mutating func enable() async throws {
        let id = try one(of: world.memory.read(\.disabled))
        let enabled = try await world.database.execute(
            """
            UPDATE accounts a
            SET status = 'active', disabled_reason = NULL
            WHERE account_id = \(id) AND status = 'disabled' AND disabled_reason = 'operator'
                AND (a.email_verified OR (a.email IS NOT NULL AND a.password_hash IS NOT NULL)
                    OR EXISTS (SELECT FROM identities i WHERE i.account_id = a.account_id))
            """)
        world.memory.forget(disabled: id)
        guard enabled == 1 else { throw Idle() }
    }

    mutating func revokeByOperator() async throws {
        let account = try await world.stores.accounts.account(try anySession().accountID)
        let identity = try anyIdentity(of: account?.identities ?? [])
        let event = AuditEvent(
            .revocationRequested, by: .operator, reason: "a walk", requestID: client.requestID)
        let outcome = try await world.stores.accounts.revoke(
            identity.id, unlinking: chance(1, of: 2), by: event, at: world.clock.now())
        switch outcome {
        case .unlinked, .kept: world.memory.note(.revocationRequested, by: client.requestID)
        case .notFound, .sessionGone: throw Idle()
        case .lastSignInMethod: world.memory.note(fault: "a revocation was refused")
        }
    }

    // MARK: Providers

    /// A provider tells of a person, now or with some delay, and it is acted on.
    mutating func tellEvent() async throws {
        let provider = try one(of: Provider.allCases)
        let subject = try anyPerson().subject(provider, Int.random(in: 1...2, using: &random))
        let (kind, detail) = try one(of: RandomWalker.told[provider] ?? [])
        guard let person = ProviderSubject(subject) else { throw Idle() }
        let now = world.clock.now()
        let number = world.memory.nextEventNumber()
        let event = ProviderEvent(
            provider: provider, realm: .main, tokenID: "event-\(number)", position: 0, type: kind.rawValue, kind: kind,
            subject: .person(person), detail: detail,
            occurredAt: now.advanced(bySeconds: -Int64.random(in: 0...30, using: &random)))
        // Apple's tokens are dead by then.
        if kind == .consentRevoked || kind == .accountDeleted { world.providers.withdraw(subject) }
        _ = try await world.stores.providerEvents.insert([event], at: now)
        let policy = world.policy
        for id in try await world.stores.providerEvents.pending(limit: 32) {
            _ = try await world.stores.providerEvents.process(
                id,
                policy: {
                    ProviderEventEffect(
                        $0, detail: $1, consentRevoked: policy.consentRevoked, accountDeleted: policy.accountDeleted)
                }, at: world.clock.now())
        }
    }

    private static let told: [Provider: [(ProviderEvent.Kind, String?)]] = [
        .apple: [(.emailDisabled, nil), (.emailEnabled, nil), (.consentRevoked, nil), (.accountDeleted, nil)],
        .google: [
            (.sessionsRevoked, nil), (.tokensRevoked, nil), (.accountDisabled, nil), (.accountDisabled, "hijacking"),
            (.accountEnabled, nil), (.accountEnabled, nil), (.credentialChangeRequired, nil),
        ],
    ]

    /// A person withdraws at the provider, which tells nobody: the daily question finds out.
    mutating func withdraw() async throws {
        let provider = try one(of: Provider.allCases)
        world.providers.withdraw(try anyPerson().subject(provider, Int.random(in: 1...2, using: &random)))
        _ = try await world.database.execute(
            """
            UPDATE provider_grants
            SET check_at = \(world.clock.now())
            WHERE grant_id IN (
                SELECT grant_id FROM provider_grants WHERE identity_id IS NOT NULL FOR NO KEY UPDATE SKIP LOCKED)
            """)
        _ = try await world.checks.checkDue()
    }

    // MARK: Time

    mutating func passTime() throws {
        // Mostly little, so that sessions are fresh and tickets good.
        let seconds: [Int64] = [1, 5, 5, 20, 20, 61, 61, 200, 605, 3_700, 90_000, 8 * 86_400]
        world.clock.advance(by: try one(of: seconds))
    }

    mutating func sweep() async throws {
        _ = try await world.sweeping.sweep()
        // Nobody mails here.
        _ = try await world.database.execute("DELETE FROM outbox WHERE kind = 'mail'")
    }
}
