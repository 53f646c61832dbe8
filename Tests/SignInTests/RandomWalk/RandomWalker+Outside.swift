import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport

/// The operations of others: the operator, the workers, the providers, and time.
extension RandomWalker {
    /// Disables an account; its sessions and the links of its clients end with it.
    mutating func disable() async throws {
        guard let id = try? await liveSession().accountID else { throw Idle() }
        try await world.administration.disable(id, reason: "a walk", by: try await administrator())
        world.memory.note(.accountDisabled, by: client.requestID)
        world.memory.change { $0.disabled.append(id) }
    }

    mutating func enable() async throws {
        let id = try one(of: world.memory.read(\.disabled))
        world.memory.change { $0.disabled.removeAll { $0 == id } }
        guard try await world.storage.accounts.account(id)?.status == .disabled else { throw Idle() }
        try await world.administration.enable(id, email: nil, reason: "a walk", by: try await administrator())
    }

    /// Has the address of an account replaced in a day, as an administrator does for an owner who has lost the mailbox.
    mutating func replaceEmail() async throws {
        let id = try anySession().accountID
        guard let address = EmailAddress(try anyAddress()) else { throw Idle() }
        // Before it may take effect.
        world.memory.note(WalkReport.Voucher(accountID: id, email: address.text))
        _ = try await world.administration.replaceEmail(
            of: id, by: address, reason: "a walk", by: try await administrator())
        // The day is none shorter by the database's clock, which is far ahead of the walk's.
        let due = world.clock.now().advanced(bySeconds: Lifetimes.emailReplacementDelaySeconds)
        try await world.storage.pool.execute(
            "UPDATE email_replacements SET due_at = LEAST(due_at, \(due)) WHERE account_id = \(id)")
        world.memory.note(.emailReplacementRequested, by: client.requestID)
    }

    mutating func unblock() async throws {
        let account = try await world.storage.accounts.account(try anySession().accountID)
        let identity = try anyIdentity(of: account?.identities.filter(\.isBlocked) ?? [])
        try await world.administration.unblock(identity.id, reason: "a walk", by: try await administrator())
    }

    /// The walk's administrator, in the current step.
    private func administrator() async throws -> Administrator {
        try await world.administration.administrator(
            presenting: Array(world.adminSecret.text.utf8), for: .read, by: call)
    }

    mutating func revokeByOperator() async throws {
        let account = try await world.storage.accounts.account(try anySession().accountID)
        let identity = try anyIdentity(of: account?.identities ?? [])
        let event = AuditEvent(.revocationRequested, by: .operator, reason: "a walk", requestID: client.requestID)
        do {
            _ = try await world.storage.accounts.revoke(
                identity.id, unlinking: chance(1, of: 2), recording: event, by: .at(world.clock.now()))
            world.memory.note(.revocationRequested, by: client.requestID)
        } catch Refusal.identityNotFound {
            throw Idle()
        } catch let refusal as Refusal {
            world.memory.note(fault: "a revocation was refused: \(refusal)")
        }
    }

    // MARK: Providers

    /// Delivers a provider's event about a person, of now or of a while ago, and processes it.
    mutating func deliverEvent() async throws {
        let provider = try one(of: Provider.allCases)
        let subject = try anyPerson().subject(provider, Int.random(in: 1...2, using: &random))
        let (kind, detail) = try one(of: RandomWalker.events[provider] ?? [])
        guard let person = ProviderSubject(subject) else { throw Idle() }
        let now = world.clock.now()
        let number = world.memory.nextEventNumber()
        let event = ProviderEvent(
            provider: provider, realm: .main, tokenID: "event-\(number)", position: 0, type: kind.rawValue, kind: kind,
            subject: .person(person), detail: detail,
            occurredAt: now.advanced(bySeconds: -Int64.random(in: 0...30, using: &random)))
        // The person's tokens are invalid by then.
        if kind == .consentRevoked || kind == .accountDeleted { world.providers.withdraw(subject) }
        _ = try await world.storage.providerEvents.insert([event], by: .at(now))
        let policy = ProviderEventPolicy(
            consentRevoked: world.policy.consentRevoked, accountDeleted: world.policy.accountDeleted)
        for id in try await world.storage.providerEvents.pending(limit: 32) {
            _ = try await world.storage.providerEvents.process(id, policy: policy, by: .at(world.clock.now()))
        }
    }

    private static let events: [Provider: [(ProviderEvent.Kind, String?)]] = [
        .apple: [(.emailDisabled, nil), (.emailEnabled, nil), (.consentRevoked, nil), (.accountDeleted, nil)],
        .google: [
            (.sessionsRevoked, nil), (.tokensRevoked, nil), (.accountDisabled, nil), (.accountDisabled, "hijacking"),
            (.accountEnabled, nil), (.accountEnabled, nil), (.credentialChangeRequired, nil),
        ],
    ]

    /// Withdraws a person's consent at the provider, which sends no event: the daily check finds it.
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
        _ = try await world.sweeper.sweep()
        // No worker sends mail here.
        _ = try await world.database.execute("DELETE FROM outbox WHERE kind = 'mail'")
    }
}
