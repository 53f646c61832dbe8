package import Accounts
package import KeyRing
package import Postgres

/// `keyring_lines`: when each line of the key ring was last the first one of a process. This decides how long the line
/// is needed for what is derived from it and stored nowhere.
package struct KeyRingLines: Sendable {
    /// The uses of a line, besides what is sealed under it.
    package struct Use: Sendable {
        package let keyID: String
        /// When it last was the first line of a process, as far as that was noted.
        package let writtenAt: Timestamp?
        /// Until when a nonce or a mailed code that was made under it may be valid.
        package var codesUntil: Timestamp? {
            let lifetime = max(Lifetimes.nonceSeconds, Lifetimes.emailCodeSeconds)
            return writtenAt?.advanced(bySeconds: KeyRingLines.margin + lifetime)
        }
        /// Until when a session at the console that was opened under it may be live.
        package var consoleSessionsUntil: Timestamp? {
            writtenAt?.advanced(bySeconds: KeyRingLines.margin + Lifetimes.consoleSessionSeconds)
        }
        /// Until when a cursor of the feed that was made under it may be followed, where events are kept for so many days.
        package func cursorsUntil(keepingDays days: Int) -> Timestamp? {
            writtenAt?.advanced(bySeconds: KeyRingLines.margin + Int64(days) * 86_400)
        }
        /// The number of live sessions that have not been refreshed since.
        package let sessions: Int64
        /// When the last of them expires.
        package let sessionsUntil: Timestamp?
        /// The number of addresses whose wrong tries at mailed codes are counted under a digest that this line may have made:
        /// no code was mailed to them since. A digest doesn't name its line.
        package let guessedAddresses: Int64
        /// When the last of them is forgotten.
        package let guessesUntil: Timestamp?
        /// The number of audit seals, which can be checked with this line alone.
        package let seals: Int64
    }

    /// Seconds: twice the longest interval between two notes of one process.
    private static let margin: Int64 = 60

    private let database: Database
    private let keyRing: KeyRing

    package init(database: Database, keyRing: KeyRing) {
        self.database = database
        self.keyRing = keyRing
    }

    /// Notes that this process writes under the first line of its ring. To be called every 30 seconds.
    package func noteWriting(by call: Call) async throws(PostgresError) {
        _ = try await database.execute(
            """
            INSERT INTO keyring_lines AS l (key_id, written_at, created_at)
            VALUES (\(keyRing.current(for: .refresh).keyID), \(call.now), \(call.now))
            ON CONFLICT (key_id) DO UPDATE
            SET written_at = EXCLUDED.written_at
            WHERE l.written_at < EXCLUDED.written_at
            """)
    }

    /// A line that processes write under, and have since the first one of this ring was last theirs; `nil` where that is
    /// theirs, or none has been noted.
    package func otherFirstLine() async throws(PostgresError) -> String? {
        let first = keyRing.current(for: .refresh).keyID
        return try await database.query(
            """
            SELECT l.key_id
            FROM keyring_lines l
            WHERE l.key_id <> \(first) AND NOT EXISTS (
                SELECT FROM keyring_lines own
                WHERE own.key_id = \(first)
                    AND own.written_at >= l.written_at - make_interval(secs => \(Double(KeyRingLines.margin))))
            ORDER BY l.written_at DESC
            LIMIT 1
            """, as: String.self
        ).first
    }

    /// The uses of every line but the first.
    package func otherUses(by call: Call) async throws(PostgresError) -> [Use] {
        var uses: [Use] = []
        for line in keyRing.all(for: .refresh).dropFirst() {
            uses += try await database.query(
                """
                SELECT l.written_at, s.count, s.until, g.count, g.until,
                    (SELECT count(*) FROM audit_seals WHERE key_id = k.key_id)
                FROM (VALUES (\(line.keyID))) AS k (key_id)
                LEFT JOIN keyring_lines l ON l.key_id = k.key_id
                CROSS JOIN LATERAL (
                    SELECT count(*), max(expires_at) AS until
                    FROM sessions
                    WHERE ended_at IS NULL AND expires_at > \(call.now)
                        AND rotated_at <= l.written_at + make_interval(secs => \(Double(KeyRingLines.margin)))
                ) AS s
                CROSS JOIN LATERAL (
                    SELECT count(*), max(forget_at) AS until
                    FROM guessed_addresses
                    WHERE forget_at > \(call.now)
                        -- A try is counted under the digest that its code was made with.
                        AND created_at <= l.written_at
                            + make_interval(secs => \(Double(KeyRingLines.margin + Lifetimes.emailCodeSeconds)))
                ) AS g
                """, as: Timestamp?.self, Int64.self, Timestamp?.self, Int64.self, Timestamp?.self, Int64.self
            ).map { written, sessions, sessionsUntil, addresses, guessesUntil, seals in
                Use(
                    keyID: line.keyID, writtenAt: written, sessions: sessions, sessionsUntil: sessionsUntil,
                    guessedAddresses: addresses, guessesUntil: guessesUntil, seals: seals)
            }
        }
        return uses
    }
}
