package import Accounts
import Postgres

/// The outcome of processing an event.
package struct ProcessedEvent: Sendable {
    package let id: ProviderEventID
    package let provider: Provider
    package let kind: ProviderEvent.Kind?
    /// Its status by now, which is not ``StoredProviderEvent/Status/pending``.
    package let outcome: StoredProviderEvent.Status
    package let detail: String?
}

extension ProviderEventStore {
    /// Processes a pending event and all others of its person, in the order in which they happened, in one transaction.
    /// A concurrent transaction on the same person's events waits, and finds them processed.
    package func process(
        _ id: ProviderEventID, policy: ProviderEventPolicy, by call: Call
    ) async throws -> (processed: [ProcessedEvent], unreadable: [UnreadableRow]) {
        try await database.change(by: call) { change in
            // The person is locked before the rows: two transactions that locked rows first would wait for each other.
            _ = try await change.query(
                """
                SELECT pg_advisory_xact_lock(hashtextextended(
                    'provider_events ' || COALESCE(provider || ' ' || realm || ' ' || subject, event_id::text), 0))::text
                FROM provider_events
                WHERE event_id = \(id)
                """, as: String?.self)
            let rows = try await change.query(
                """
                SELECT e.event_id, e.provider, e.jti, e.kind, e.realm, e.subject, e.detail, e.token_fingerprints,
                    e.occurred_at
                FROM provider_events e
                JOIN provider_events first ON first.event_id = \(id)
                WHERE e.status = 'pending' AND (
                    e.event_id = first.event_id
                    OR (e.subject = first.subject AND e.provider = first.provider AND e.realm = first.realm))
                ORDER BY e.occurred_at, e.position, e.event_id
                FOR UPDATE OF e
                """
            ) { row throws(PostgresError) in try row.claimed(PendingEvent.init) }
            let claimed = await ClaimedRows(rows, in: change)
            let events = claimed.work
            // Before any account: a transaction that spends a ticket of the person locks in this order too.
            if let key = events.first?.key { try await change.links.lock(key) }
            var processed: [ProcessedEvent] = []
            for event in events {
                let outcome = try await change.providerEvents.apply(event, policy: policy)
                // A token of before may be posted yet, and is refused by this row (`LinkStore`).
                let isKept =
                    [.done, .unknownSubject].contains(outcome) && event.effect(by: policy)?.endsSessions == true
                let keptUntil = isKept ? call.now.advanced(bySeconds: Lifetimes.unknownSubjectRetentionSeconds) : nil
                _ = try await change.execute(
                    """
                    UPDATE provider_events
                    SET status = \(outcome.rawValue), processed_at = \(call.now),
                        subject = CASE WHEN \(isKept) OR \(ProviderEventStore.isOfLinkedIdentity) THEN subject END,
                        kept_until = \(keptUntil)
                    WHERE event_id = \(event.id)
                    """)
                processed.append(
                    ProcessedEvent(
                        id: event.id, provider: event.provider, kind: event.kind, outcome: outcome,
                        detail: event.detail))
            }
            // A release that knows them may replay them.
            if !claimed.unreadable.isEmpty {
                _ = try await change.execute(
                    """
                    UPDATE provider_events
                    SET status = 'unknown_type', processed_at = \(call.now)
                    WHERE event_id = ANY (\(claimed.unreadable.map(\.id)))
                    """)
            }
            return (processed, claimed.unreadable)
        }
    }
}

private struct PendingEvent: Sendable {
    let id: ProviderEventID
    let provider: Provider
    let tokenID: String
    let kind: ProviderEvent.Kind?
    let key: IdentityKey?
    let detail: String?
    let fingerprints: [[UInt8]]
    let occurredAt: Timestamp

    /// What an identity that the event blocks is blocked for.
    var blockReason: String? { if let detail, !detail.isEmpty { detail } else { kind?.rawValue } }

    /// `nil` for an event of an unknown type.
    func effect(by policy: ProviderEventPolicy) -> ProviderEventEffect? {
        kind.map { ProviderEventEffect($0, detail: detail, policy: policy) }
    }

    init(_ row: PostgresRow) throws(PostgresError) {
        let (id, provider, tokenID, kind, realm, subject, detail, fingerprints, occurredAt) = try row.decode(
            ProviderEventID.self, Provider.self, String.self, String?.self, Realm.self, ProviderSubject?.self,
            String?.self, [[UInt8]]?.self, Timestamp.self)
        self.id = id
        self.provider = provider
        self.tokenID = tokenID
        self.kind = kind.flatMap(ProviderEvent.Kind.init)
        self.key = subject.map { IdentityKey(provider: provider, realm: realm, subject: $0) }
        self.detail = detail
        self.fingerprints = fingerprints ?? []
        self.occurredAt = occurredAt
    }
}

extension ProviderEventStore {
    /// The condition under which the row of a processed event keeps its subject: an identity has it.
    static let isOfLinkedIdentity: SQL = """
        EXISTS (
            SELECT FROM identities i
            WHERE i.provider = provider_events.provider AND i.realm = provider_events.realm
                AND i.subject = provider_events.subject)
        """
}

extension Change.ProviderEvents {
    fileprivate func apply(
        _ event: PendingEvent, policy: ProviderEventPolicy
    ) async throws -> StoredProviderEvent.Status {
        guard let kind = event.kind else { return .unknownType }
        switch kind {
        case .verification:
            try await record(.streamVerified, of: event, reason: event.detail)
            return .done
        case .tokenRevoked:
            return try await endGrants(namedBy: event)
        default:
            break
        }
        guard let key = event.key else { return .unknownSubject }
        let effect = ProviderEventEffect(kind, detail: event.detail, policy: policy)
        // Before the identity is looked up: this waits for a transaction that is spending a ticket, after which the
        // identity is linked.
        if effect.endsSessions {
            try await endTickets(of: key, upTo: event)
            // Likewise for the batch of an import. One that comes after this remembers the event.
            _ = try await change.execute(
                "SELECT FROM imports WHERE finished_at IS NULL ORDER BY import_id FOR NO KEY UPDATE")
        }
        let owners = try await change.query(
            "SELECT account_id FROM identities WHERE \(key.condition)", as: AccountID.self)
        guard let owner = owners.first, let account = try await change.accounts.lock(owner),
            let identity = account.identities.first(where: { $0.key == key })
        else {
            // The person may have yet to choose: the grants of their tickets end too.
            if effect.endsAuthorization { try await deleteGrants(of: key, upTo: event) }
            return .unknownSubject
        }
        if effect.setsState {
            // An event this old may repeat one that has been deleted, together with those that came after it. The bound
            // is an hour less than the retention, because clocks differ.
            let oldestKnown = now.advanced(bySeconds: 3_600 - Lifetimes.providerEventRetentionSeconds)
            guard event.occurredAt > oldestKnown,
                try await !isSuperseded(event, kind, of: key, policy: policy)
            else { return .outdated }
        }
        if effect == .block, try await isLinked(identity, byNewerProofThan: event) { return .outdated }
        if effect.isUndoneByConsent, try await hasNewerConsent(identity, than: event) {
            return .outdated
        }
        try await carryOut(effect, of: event, on: identity, of: account)
        return .done
    }

    fileprivate func carryOut(
        _ effect: ProviderEventEffect, of event: PendingEvent, on identity: Identity, of account: Account
    ) async throws {
        func record(_ kind: AuditEvent.Kind) async throws {
            try await self.record(
                kind, of: event, accountID: account.id, identityID: identity.id, reason: event.kind?.rawValue)
        }
        func endSessions(authenticatedUntil time: Timestamp? = nil) async throws {
            try await change.sessions.end(.openedBy(identity.id, authenticatedUntil: time), because: .providerEvent)
        }
        func set(_ assignment: SQL) async throws {
            _ = try await change.execute("UPDATE identities SET \(assignment) WHERE identity_id = \(identity.id)")
        }
        // A token from before the event is refused from now on, whether it is posted again or for the first time.
        if effect.endsSessions { try await set("not_before = GREATEST(not_before, \(event.occurredAt))") }
        // The provider's own sessions are over: a token that it issues later must come from a later authentication. Where
        // only the authorization is over, such a token comes from a new consent, for which an authentication from before
        // may do.
        if effect == .endSessions { try await set("auth_not_before = GREATEST(auth_not_before, \(event.occurredAt))") }
        switch effect {
        case .endAuthorization(let unlinking):
            try await deleteGrants(of: identity.key, upTo: event)
            try await endSessions()
            // An identity of a disabled account stays: its person would make another account with it.
            if unlinking, account.status == .active, account.hasSignInMethod(besides: identity.id) {
                try await change.accounts.deleteLink(
                    of: identity, in: account.id, refusingTokensUntil: event.occurredAt, by: .provider)
                try await record(.identityUnlinked)
            } else {
                try await set("authorization_status = 'revoked'")
                try await record(.authorizationRevoked)
            }
        case .deleteAccount:
            try await deleteGrants(of: identity.key, upTo: event)
            try await change.accounts.delete(
                account,
                recording: AuditEvent(
                    .accountDeleted, by: .provider, identityID: identity.id, provider: event.provider,
                    tokenID: event.tokenID, reason: event.kind?.rawValue),
                reason: .providerAccountDeleted)
        case .endTokens:
            let hasConsented = try await hasNewerConsent(identity, than: event)
            try await deleteGrants(of: identity.key, upTo: event)
            try await endSessions(authenticatedUntil: event.occurredAt)
            if !hasConsented { try await set("authorization_status = 'revoked'") }
            try await record(hasConsented ? .sessionsEnded : .authorizationRevoked)
        case .endSessions:
            // Sessions of a later authentication stay.
            try await endSessions(authenticatedUntil: event.occurredAt)
            // What was linked in them is not known to be the owner's.
            try await change.oauthGrants.end(allOf: account.id, because: .providerEvent)
            try await record(.sessionsEnded)
        case .noteEmailDeliverable(let isDeliverable):
            try await set("email_deliverable = \(isDeliverable)")
            try await record(isDeliverable ? .emailDeliverable : .emailUndeliverable)
        case .block:
            try await set("blocked_at = \(event.occurredAt), block_reason = \(event.blockReason)")
            try await record(.identityBlocked)
        case .unblock:
            try await set("blocked_at = NULL, block_reason = NULL")
            try await record(.identityUnblocked)
        case .requireCredentialChange:
            // A person who has authenticated there since then is not shown it.
            if try await !hasNewerConsent(identity, than: event) {
                try await set(
                    "credential_change_required_at = GREATEST(credential_change_required_at, \(event.occurredAt))")
            }
            try await record(.credentialChangeRequired)
        case .note:
            return
        }
    }

    /// Whether a later event on the same state has been processed: only the latest counts, and it may have arrived
    /// first.
    fileprivate func isSuperseded(
        _ event: PendingEvent, _ kind: ProviderEvent.Kind, of key: IdentityKey, policy: ProviderEventPolicy
    ) async throws -> Bool {
        let later = try await change.query(
            """
            SELECT kind, detail
            FROM provider_events
            WHERE \(key.condition) AND kind = ANY (\(kind.supersedingKinds.map(\.rawValue))) AND status = 'done'
                AND occurred_at > \(event.occurredAt)
            """, as: String.self, String?.self)
        return later.contains { kind, detail in
            ProviderEvent.Kind(rawValue: kind).map { ProviderEventEffect($0, detail: detail, policy: policy).setsState }
                ?? false
        }
    }

    /// Whether the person has signed in or linked with the provider, or a code was exchanged, since the event happened:
    /// each of these is a new consent.
    fileprivate func hasNewerConsent(_ identity: Identity, than event: PendingEvent) async throws -> Bool {
        let rows = try await change.query(
            """
            SELECT EXISTS (
                    SELECT FROM identities
                    WHERE identity_id = \(identity.id) AND proven_at > \(event.occurredAt))
                OR EXISTS (
                    SELECT FROM sessions
                    WHERE identity_id = \(identity.id)
                        AND COALESCE(provider_auth_time, auth_time) > \(event.occurredAt))
                OR EXISTS (
                    SELECT FROM provider_grants
                    WHERE identity_id = \(identity.id) AND created_at > \(event.occurredAt))
            """, as: Bool.self)
        return rows == [true]
    }

    /// Whether the identity was linked since the event happened, by a proof from after it. The events of the identity that had
    /// the subject before are forgotten.
    fileprivate func isLinked(_ identity: Identity, byNewerProofThan event: PendingEvent) async throws -> Bool {
        let linked = try await change.execute(
            """
            SELECT FROM identities
            WHERE identity_id = \(identity.id) AND created_at > \(event.occurredAt) AND proven_at > \(event.occurredAt)
            """)
        return linked == 1
    }

    /// Deletes the person's grants up to the event: the provider no longer honours them, so nothing is left to revoke.
    fileprivate func deleteGrants(of key: IdentityKey, upTo event: PendingEvent) async throws {
        _ = try await change.execute(
            """
            DELETE FROM provider_grants
            WHERE \(key.condition) AND revocation_id IS NULL AND created_at <= \(event.occurredAt)
            """)
    }

    /// Consumes the person's tickets up to the event: a ticket proves what a session would that had been opened in its
    /// place.
    fileprivate func endTickets(of key: IdentityKey, upTo event: PendingEvent) async throws {
        _ = try await change.execute(
            """
            UPDATE link_tickets
            SET consumed_at = \(now)
            WHERE \(key.condition) AND consumed_at IS NULL AND auth_time <= \(event.occurredAt)
            """)
    }

    /// Deletes the grant whose provider refresh token the event names. When the token's first characters match several
    /// grants, each is checked with the provider.
    fileprivate func endGrants(namedBy event: PendingEvent) async throws -> StoredProviderEvent.Status {
        let named: SQL = """
            revocation_id IS NULL AND provider = \(event.provider.rawValue)
                AND (prefix_fingerprint = ANY (\(event.fingerprints)) OR digest_fingerprint = ANY (\(event.fingerprints)))
            """
        // The identity is locked first, as when a grant is kept or checked.
        _ = try await change.execute(
            """
            SELECT FROM identities
            WHERE identity_id IN (SELECT identity_id FROM provider_grants WHERE \(named))
            ORDER BY identity_id
            FOR NO KEY UPDATE
            """)
        let grants = try await change.query(
            "SELECT grant_id, identity_id FROM provider_grants WHERE \(named) FOR UPDATE",
            as: GrantID.self, IdentityID?.self)
        guard let (grantID, identityID) = grants.first else { return .unknownSubject }
        guard grants.count == 1 else {
            _ = try await change.execute("UPDATE provider_grants SET check_at = \(now) WHERE \(named)")
            return .done
        }
        _ = try await change.execute("DELETE FROM provider_grants WHERE grant_id = \(grantID)")
        let accounts = try await change.query(
            """
            UPDATE identities i
            SET authorization_status = CASE WHEN EXISTS (
                    SELECT FROM provider_grants g WHERE g.identity_id = i.identity_id AND g.grant_id <> \(grantID)
                ) THEN authorization_status ELSE 'revoked' END
            WHERE identity_id = \(identityID)
            RETURNING account_id
            """, as: AccountID.self)
        try await record(.grantRevoked, of: event, accountID: accounts.first, identityID: identityID)
        return .done
    }

    fileprivate func record(
        _ kind: AuditEvent.Kind, of event: PendingEvent, accountID: AccountID? = nil, identityID: IdentityID? = nil,
        reason: String? = nil
    ) async throws {
        try await change.record(
            AuditEvent(
                kind, by: .provider, accountID: accountID, identityID: identityID, provider: event.provider,
                tokenID: event.tokenID, reason: reason))
    }
}
