import KeyRing
import OpenSSL
import Postgres
import Primitives

/// The last seal of what was taken away with old months: a check of the trail begins behind it.
///
/// It stands in the reason of an `audit_dropped` row, under a code of the key ring: who could only write rows, or only
/// delete them, would else make any seal the first.
struct AuditAnchor: Sendable {
    let number: Int64
    let code: [UInt8]

    init(_ stored: StoredAuditSeal, key: KeyRing.Subkey) throws(OpenSSLError) {
        number = stored.seal.number
        code = try AuditAnchor.code(of: stored, key: key).bytes
    }

    /// - Parameter reason: of an `audit_dropped` row; `nil` for one that names no anchor.
    init?(reason: String) {
        guard let word = reason.split(separator: " ").last else { return nil }
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), let code = Hexadecimal.decode(parts[1]) else {
            return nil
        }
        self.number = number
        self.code = code
    }

    /// `NUMBER:CODE`.
    var text: String { "\(number):\(Hexadecimal.encode(code))" }

    /// Whether it was made of this seal.
    func names(_ stored: StoredAuditSeal, key: KeyRing.Subkey) throws(OpenSSLError) -> Bool {
        try AuditAnchor.code(of: stored, key: key).matches(code)
    }

    private static func code(of stored: StoredAuditSeal, key: KeyRing.Subkey) throws(OpenSSLError) -> SecretBytes {
        var message = CanonicalBytes()
        message.append("countersign audit anchor 1")
        message.append(stored.seal.number)
        message.append(stored.seal.totalCount)
        message.append(key.keyID)
        message.append(stored.code)
        return try HMACSHA256.authenticationCode(for: message.bytes, key: key.bytes)
    }
}

extension AuditSeals {
    /// How many of the newest rows may be looked through for an anchor: who can add rows can add some of that kind.
    private static let maximumAnchors = 1_000

    /// The seal that a check begins behind, if months were taken away.
    static func anchor(in session: some PostgresSession, _ keyRing: KeyRing) async throws -> StoredAuditSeal? {
        let reasons = try await session.query(
            """
            SELECT reason
            FROM audit_events
            WHERE type = 'audit_dropped' AND reason IS NOT NULL
            ORDER BY created_at DESC
            LIMIT \(maximumAnchors)
            """, as: String.self)
        let anchors = reasons.compactMap(AuditAnchor.init(reason:))
        let seals = try await session.query(
            """
            SELECT \(StoredAuditSeal.columns)
            FROM audit_seals
            WHERE seal_number = ANY (\(anchors.map(\.number)))
            ORDER BY seal_number DESC
            """, as: StoredAuditSeal.init)
        return try seals.first { seal in
            guard let key = keyRing.subkey(seal.seal.keyID, for: .audit) else { return false }
            return try anchors.contains { try $0.number == seal.seal.number && $0.names(seal, key: key) }
        }
    }
}
