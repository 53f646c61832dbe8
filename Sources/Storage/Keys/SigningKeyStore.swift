package import Accounts
package import KeyRing
package import Postgres

/// A key that signs access tokens, as it is stored: sealed.
package struct StoredSigningKey: Equatable, Sendable {
    package enum State: String, Sendable {
        /// Published, so that verifiers know it before it signs.
        case next
        case signing
        /// Kept for the tokens that it has signed.
        case verifying
    }

    package let keyID: String
    package let sealedPrivateKey: [UInt8]
    package let createdAt: Timestamp
    /// When it begins to sign. It is published from its creation on.
    package fileprivate(set) var signsFrom: Timestamp
    /// When the next key takes over; `nil` while there is none.
    package private(set) var signsUntil: Timestamp?
    /// Seconds: the longest lifetime of a token that any process signs with it. Each process raises it, if need be, as
    /// soon as it has read the key.
    package let tokenLifetime: Int64

    package init(
        keyID: String, sealedPrivateKey: [UInt8], createdAt: Timestamp, signsFrom: Timestamp, tokenLifetime: Int64
    ) {
        self.keyID = keyID
        self.sealedPrivateKey = sealedPrivateKey
        self.createdAt = createdAt
        self.signsFrom = signsFrom
        self.tokenLifetime = tokenLifetime
    }

    package static func location(keyID: String) -> SealedLocation {
        SealedLocation(table: "signing_keys", row: keyID, column: "sealed_private_key")
    }

    /// Why this key ring doesn't open it; `nil` when it does.
    fileprivate func fault(under keyRing: KeyRing) -> SealError? {
        do {
            _ = try keyRing.open(sealedPrivateKey, for: .signing, at: StoredSigningKey.location(keyID: keyID))
            return nil
        } catch {
            return error
        }
    }

    /// Seconds for which a key is kept after the last token of it has expired: for clocks that differ, and for a
    /// process that signs with it a little too long.
    package static let margin: Int64 = 600

    /// When it may be deleted: no token of it is valid any more. `nil` while no other key has taken over.
    package var keptUntil: Timestamp? {
        signsUntil?.advanced(bySeconds: tokenLifetime).advanced(bySeconds: StoredSigningKey.margin)
    }

    fileprivate init(row: PostgresRow) throws(PostgresError) {
        let (id, sealed, created, from, until, lifetime) = try row.decode(
            String.self, [UInt8].self, Timestamp.self, Timestamp.self, Timestamp?.self, Int64.self)
        self.init(keyID: id, sealedPrivateKey: sealed, createdAt: created, signsFrom: from, tokenLifetime: lifetime)
        signsUntil = until
    }
}

extension [StoredSigningKey] {
    /// The key that signs at that time, of keys in the order of ``SigningKeyStore/keys()``: the last one that has begun
    /// to sign or, by a clock that is behind all of them, the first one that will.
    package func signing(at time: Timestamp) -> StoredSigningKey? { first { $0.signsFrom <= time } ?? last }

    /// The state of each key at that time.
    package func states(at time: Timestamp) -> [(key: StoredSigningKey, state: StoredSigningKey.State)] {
        let signing = signing(at: time)
        return map { key in
            (key, key == signing ? .signing : key.signsFrom > time ? .next : .verifying)
        }
    }
}

/// `signing_keys`.
///
/// ```
///   created ──▶ next ──signs_from──▶ signing ──the next one's──▶ verifying ──its last token is over──▶ no row
/// ```
package struct SigningKeyStore: Sendable {
    /// The outcome of a request for a new key.
    package enum Rotation: Sendable {
        case rotated(StoredSigningKey)
        /// The key has taken the place of a next one that the ring doesn't open.
        case replaced(StoredSigningKey, unreadable: StoredSigningKey, SealError)
        /// The ring doesn't open the key that signs: it isn't the ring of the processes, or they can't sign either.
        case unreadable(StoredSigningKey, SealError)
        /// There is a key already that does not sign yet.
        case underWay(StoredSigningKey)
        /// The key that signs is younger than the minimum age.
        case recent(StoredSigningKey)
        /// As many keys are stored as are permitted; the first of them may be deleted at this time.
        case tooMany(until: Timestamp?)
    }

    /// The most keys that are stored. Verifiers take a key set of 32 keys, and no rotation needs half as many.
    package static let maximumKeys = 16

    private let database: Database

    package init(database: Database) { self.database = database }

    /// All keys, the one that takes over last first.
    package func keys() async throws(PostgresError) -> [StoredSigningKey] {
        try await SigningKeyStore.keys(in: database)
    }

    /// The keys; the given one is stored first when there is none. Of several processes that start at once one stores
    /// its key and the others read it.
    package func keys(
        orFirst makeKey: @escaping @Sendable () throws -> StoredSigningKey, by call: Call
    ) async throws -> [StoredSigningKey] {
        let keys = try await self.keys()
        guard keys.isEmpty else { return keys }
        return try await changing(by: call) { change, keys in
            guard keys.isEmpty else { return keys }
            let key = try makeKey()
            try await change.signingKeys.insert(key)
            return [key]
        }
    }

    /// Stores the next key, unless another one is scheduled, the one that signs is still young, or there are too many.
    /// The first of all signs at once: no verifier has a key set that lacks it.
    ///
    /// - Parameters:
    ///   - keyRing: the ring that has sealed it. It has to open the key that signs; a next key that it doesn't open
    ///     goes, as no token of it has been signed.
    ///   - minimumAge: seconds; how long the current key must have signed.
    package func add(
        _ key: StoredSigningKey, keyRing: KeyRing, minimumAge: Int64, by call: Call
    ) async throws -> Rotation {
        try await changing(by: call) { change, keys in
            let present = keys.signing(at: call.now)
            if let present, let fault = present.fault(under: keyRing) { return .unreadable(present, fault) }
            if let next = keys.last(where: { $0.signsFrom > call.now }), keys.count > 1 {
                guard let fault = next.fault(under: keyRing) else { return .underWay(next) }
                _ = try await change.execute("DELETE FROM signing_keys WHERE key_id = \(next.keyID)")
                try await change.signingKeys.insert(key)
                try await change.signingKeys.record("scheduled")
                return .replaced(key, unreadable: next, fault)
            }
            if let present, present.signsFrom.advanced(bySeconds: minimumAge) > call.now { return .recent(present) }
            guard keys.count < SigningKeyStore.maximumKeys else {
                return .tooMany(until: keys.compactMap(\.keptUntil).min())
            }
            var key = key
            if keys.isEmpty { key.signsFrom = key.createdAt }
            try await change.signingKeys.insert(key)
            try await change.signingKeys.record("scheduled")
            return .rotated(key)
        }
    }

    /// Replaces all keys by one. The tokens of the others are invalid from then on.
    package func replaceAll(with key: StoredSigningKey, by call: Call) async throws {
        try await changing(by: call) { change, _ in
            try await change.execute("DELETE FROM signing_keys")
            try await change.signingKeys.insert(key)
            try await change.signingKeys.record("leaked")
        }
    }

    /// Notes that all of these keys sign tokens of this lifetime, in seconds.
    package func note(tokenLifetime: Int64) async throws(PostgresError) {
        _ = try await database.execute(
            "UPDATE signing_keys SET token_lifetime = \(tokenLifetime) WHERE token_lifetime < \(tokenLifetime)")
    }

    /// Deletes the keys whose tokens have all expired.
    package func deleteExpired(by call: Call) async throws -> Int {
        let expired = try await keys().filter { key in key.keptUntil.map { $0 <= call.now } ?? false }
        guard !expired.isEmpty else { return 0 }
        return try await database.execute("DELETE FROM signing_keys WHERE key_id = ANY (\(expired.map(\.keyID)))")
    }

    /// Runs one change at a time: the keys that it decides by are the same until it commits.
    private func changing<Result: Sendable>(
        by call: Call, _ body: @escaping @Sendable (Change, [StoredSigningKey]) async throws -> Result
    ) async throws -> Result {
        try await database.change(by: call) { change in
            _ = try await change.execute("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE")
            return try await body(change, try await SigningKeyStore.keys(in: change))
        }
    }

    private static func keys(in session: some PostgresSession) async throws(PostgresError) -> [StoredSigningKey] {
        try await session.query(
            """
            SELECT key_id, sealed_private_key, created_at, signs_from,
                lead(signs_from) OVER (ORDER BY signs_from, key_id), token_lifetime
            FROM signing_keys
            ORDER BY signs_from DESC, key_id DESC
            """
        ) { row throws(PostgresError) in try StoredSigningKey(row: row) }
    }
}

extension Change.SigningKeys {
    fileprivate func insert(_ key: StoredSigningKey) async throws(PostgresError) {
        _ = try await change.execute(
            """
            INSERT INTO signing_keys (key_id, sealed_private_key, created_at, signs_from, token_lifetime)
            VALUES (\(key.keyID), \(key.sealedPrivateKey), \(key.createdAt), \(key.signsFrom), \(key.tokenLifetime))
            """)
    }

    fileprivate func record(_ reason: String) async throws(PostgresError) {
        try await change.record(.signingKeyRotated, reason: reason)
    }
}
