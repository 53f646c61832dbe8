package import Accounts
package import Postgres

/// An identity whose app moves to another developer team.
package struct TransferringIdentity: Sendable {
    package let identityID: IdentityID
    package let subject: ProviderSubject
    /// `nil` until Apple has made one.
    package let transferSubject: ProviderSubject?
}

/// What became of the identity that a transfer identifier leads to.
package enum IdentityAdoption: Equatable, Sendable {
    /// It has its subject in the new team.
    case moved
    /// The app is not in the new team yet, as far as the caller knows: the person is known under this key.
    case staying(IdentityKey)
    /// The identifier is unknown, the new subject is linked already, or the account has an identity of the new team.
    case none
}

/// `identity_transfers`: the identity of each of Apple's transfer identifiers.
package struct TransferStore: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// Identities of a team that have no transfer identifier for the target team yet, in the order of their ids, after
    /// the given one.
    package func withoutTransferSubject(
        realm: Realm, targetTeam: String, after: IdentityID?, limit: Int
    ) async throws(PostgresError) -> [TransferringIdentity] {
        try await database.query(
            TransferStore.missing(realm: realm, targetTeam: targetTeam, after: after, limit: limit),
            as: TransferStore.identity)
    }

    /// Identities whose new subject has yet to be requested, in the order of their ids, after the given one.
    package func awaitingSubject(
        targetTeam: String, after: IdentityID?, limit: Int
    ) async throws(PostgresError) -> [TransferringIdentity] {
        try await database.query(
            TransferStore.awaiting(targetTeam: targetTeam, after: after, limit: limit), as: TransferStore.identity)
    }

    static func missing(realm: Realm, targetTeam: String, after: IdentityID?, limit: Int) -> SQL {
        """
        SELECT i.identity_id, i.subject, NULL::text
        FROM identities i
        WHERE i.provider = 'apple' AND i.realm = \(realm.text) AND \(isBehind("i", after))
            AND NOT EXISTS (
                SELECT FROM identity_transfers t
                WHERE t.identity_id = i.identity_id AND t.target_team = \(targetTeam) AND \(isBehind("t", after)))
        ORDER BY i.identity_id
        LIMIT \(limit)
        """
    }

    static func awaiting(targetTeam: String, after: IdentityID?, limit: Int) -> SQL {
        """
        SELECT i.identity_id, i.subject, t.transfer_subject
        FROM identity_transfers t
        JOIN identities i ON i.identity_id = t.identity_id
        WHERE t.target_team = \(targetTeam) AND \(isBehind("t", after)) AND \(isBehind("i", after))
        ORDER BY i.identity_id
        LIMIT \(limit)
        """
    }

    /// Said of each table of a page: from one that is joined, the server would read all that is before the page, too.
    private static func isBehind(_ table: SQL, _ id: IdentityID?) -> SQL {
        if let id { "\(table).identity_id > \(id)" } else { "true" }
    }

    package func awaitingSubjectCount(targetTeam: String) async throws(PostgresError) -> Int {
        let rows = try await database.query(
            "SELECT count(*) FROM identity_transfers WHERE target_team = \(targetTeam)"
        ) { row throws(PostgresError) in
            let count = try row.decode(Int64.self)
            return Int(count)
        }
        return rows.first ?? 0
    }

    /// The number of a team's identities, and of those that have a transfer identifier for the target team.
    package func count(
        realm: Realm, targetTeam: String
    ) async throws(PostgresError) -> (identities: Int, exported: Int) {
        let rows = try await database.query(
            """
            SELECT count(*), count(t.identity_id)
            FROM identities i
            LEFT JOIN identity_transfers t ON t.identity_id = i.identity_id AND t.target_team = \(targetTeam)
            WHERE i.provider = 'apple' AND i.realm = \(realm.text)
            """
        ) { row throws(PostgresError) in
            let (identities, exported) = try row.decode(Int64.self, Int64.self)
            return (Int(identities), Int(exported))
        }
        return rows.first ?? (0, 0)
    }

    package func store(
        _ transferSubject: ProviderSubject, of identityID: IdentityID, targetTeam: String, by call: Call
    ) async throws(PostgresError) {
        _ = try await database.execute(
            """
            INSERT INTO identity_transfers (transfer_subject, identity_id, target_team, created_at)
            SELECT \(transferSubject.text), i.identity_id, \(targetTeam), \(call.now)
            FROM identities i
            WHERE i.identity_id = \(identityID)
            FOR KEY SHARE
            ON CONFLICT DO NOTHING
            """)
    }

    /// Whether an identity of the transfer identifier has yet to be moved.
    package func awaits(_ transferSubject: ProviderSubject) async throws(PostgresError) -> Bool {
        let rows = try await database.query(
            "SELECT EXISTS (SELECT FROM identity_transfers WHERE transfer_subject = \(transferSubject.text))",
            as: Bool.self)
        return rows.first ?? false
    }

    /// Moves the identity of a transfer identifier to its subject in the new team, and deletes the identifier.
    ///
    /// In a realm of any other team it would be lost: the configuration will have the app in the new team's.
    ///
    /// - Parameter team: the Team ID of the realm in `key`; `nil` where none is known.
    package func adopt(
        _ transferSubject: ProviderSubject, as key: IdentityKey, of team: String?, email: ProviderEmail?,
        event: AuditEvent, by call: Call
    ) async throws -> IdentityAdoption {
        // Of events that came while the configuration had the app in the former team.
        let inFormerRealm = IdentityStore.remembered(of: "former.provider", "former.realm", "\(key.subject.text)")
        do {
            return try await database.change(by: call) { change in
                // An event about the new subject finds the identity, or is remembered by now.
                try await change.links.lock(key)
                let rows = try await change.query(
                    """
                    UPDATE identities i
                    SET realm = \(key.realm.text), subject = \(key.subject.text),
                        email = COALESCE(\(email?.address.text), i.email),
                        email_verified =
                            CASE WHEN \(email == nil) THEN i.email_verified ELSE \(email?.isVerified ?? false) END,
                        is_private_email =
                            CASE WHEN \(email == nil) THEN i.is_private_email
                            ELSE \(email?.isPrivateRelay ?? false) END,
                        not_before = GREATEST(i.not_before, m.not_before, f.not_before),
                        auth_not_before = GREATEST(i.auth_not_before, m.auth_not_before, f.auth_not_before)
                    FROM identity_transfers t
                    JOIN identities former ON former.identity_id = t.identity_id
                    CROSS JOIN \(IdentityStore.remembered(of: key)) m
                    CROSS JOIN LATERAL \(inFormerRealm) f
                    WHERE t.transfer_subject = \(transferSubject.text) AND t.target_team = \(team)
                        AND i.identity_id = t.identity_id AND i.provider = \(key.provider.rawValue)
                    RETURNING i.identity_id, i.account_id, former.realm, former.subject
                    """, as: IdentityID.self, AccountID.self, Realm.self, ProviderSubject.self)
                guard let (identityID, accountID, realm, subject) = rows.first else {
                    return try await TransferStore.standing(transferSubject, key, of: team, in: change)
                }
                // Of several concurrent callers the first has deleted it, and moved the identity.
                let isUsed = try await change.execute(
                    "DELETE FROM identity_transfers WHERE transfer_subject = \(transferSubject.text)")
                guard isUsed == 1 else { return .none }
                // Apple does not document whether the key of the new team may check a grant of the old one's: a refusal
                // would not prove that the person has withdrawn.
                _ = try await change.execute(
                    """
                    UPDATE provider_grants
                    SET realm = \(key.realm.text), subject = \(key.subject.text), check_at = NULL
                    WHERE identity_id = \(identityID)
                    """)
                try await change.providerEvents.forgetSubject(
                    of: IdentityKey(provider: key.provider, realm: realm, subject: subject))
                var event = event
                event.accountID = accountID
                event.identityID = identityID
                event.provider = key.provider
                try await change.record(event)
                return .moved
            }
        } catch let error as PostgresError
            where error.isUniqueViolation(of: "identities_subject_key")
            || error.isUniqueViolation(of: "identities_account_provider_key")
        {
            return .none
        }
    }

    /// Leaves the identity where it is. What is remembered of events about the new subject counts for it now.
    private static func standing(
        _ transferSubject: ProviderSubject, _ key: IdentityKey, of team: String?, in change: Change
    ) async throws(PostgresError) -> IdentityAdoption {
        let rows = try await change.query(
            """
            UPDATE identities i
            SET not_before = GREATEST(i.not_before, m.not_before),
                auth_not_before = GREATEST(i.auth_not_before, m.auth_not_before)
            FROM identity_transfers t
            CROSS JOIN \(IdentityStore.remembered(of: key)) m
            WHERE t.transfer_subject = \(transferSubject.text) AND t.target_team IS DISTINCT FROM \(team)
                AND i.identity_id = t.identity_id AND i.provider = \(key.provider.rawValue)
            RETURNING i.realm, i.subject
            """, as: Realm.self, ProviderSubject.self)
        guard let (realm, subject) = rows.first else { return .none }
        return .staying(IdentityKey(provider: key.provider, realm: realm, subject: subject))
    }

    private static func identity(_ row: PostgresRow) throws(PostgresError) -> TransferringIdentity {
        let (id, subject, transferSubject) = try row.decode(
            IdentityID.self, ProviderSubject.self, ProviderSubject?.self)
        return TransferringIdentity(identityID: id, subject: subject, transferSubject: transferSubject)
    }
}
