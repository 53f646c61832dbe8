import Accounts
package import KeyRing
import Postgres

/// A value that is sealed under a key of the ring, and whether the ring opens it.
package struct SealedSample: Sendable {
    package enum Kind: String, Sendable {
        case grants = "refresh tokens of providers"
        case signingKeys = "signing keys"
        /// Without which an import is neither run again nor undone.
        case imports = "keys of imports"
        /// Read by `countersign audit verify` alone.
        case auditSeals = "audit seals"
        /// Where the sealer continues.
        case auditHead = "the audit trail's head"

        /// Whether it may be sealed again under another key: the values of the audit trail never change.
        package var canBeResealed: Bool {
            switch self {
            case .grants, .signingKeys, .imports: true
            case .auditSeals, .auditHead: false
            }
        }
    }

    package enum State: Sendable {
        case known
        /// The ring has no line of this id.
        case unknown
        /// The ring has a line of this id, and it doesn't open the value.
        case foreign
        case malformed
    }

    package let kind: Kind
    package let keyID: String
    /// The id of one row that is sealed under the key.
    package let row: String
    package let state: State
}

extension DatabaseInspection {
    /// The number of rows that are read from either end of a table.
    private static let sampleSize = 1000

    /// One sample for each kind and key. The cost doesn't grow with the database: all signing keys and imports are read, of
    /// which there are few, and of grants and audit seals the newest and the oldest.
    package func sealed(under keyRing: KeyRing) async throws -> [SealedSample] {
        let grants = try await grants(under: keyRing)
        let signingKeys = try await SigningKeyStore(database: database).keys().map { key in
            SealedSample(
                .signingKeys, key.sealedPrivateKey, row: key.keyID, for: .signing,
                at: StoredSigningKey.location(keyID: key.keyID), keyRing)
        }
        let imports = try await database.query(
            "SELECT import_id, sealed_key FROM imports ORDER BY import_id DESC LIMIT \(Self.sampleSize)",
            as: ImportID.self, [UInt8].self
        ).map { id, sealed in
            SealedSample(.imports, sealed, row: id.description, for: .imports, at: ImportStore.location(id), keyRing)
        }
        return try await (grants + signingKeys + imports).onePerKey + auditTrail(under: keyRing)
    }

    /// Whether the first line of the ring has other bytes than the line of its id that the processes write grants under:
    /// what it seals none of them could open. A grant that it doesn't open shows nothing as long as it opens others.
    package func isFirstLineForeign(in keyRing: KeyRing) async throws -> Bool {
        let id = keyRing.current(for: .grants).keyID
        let samples = try await grants(under: keyRing).filter { $0.keyID == id }
        return samples.contains { $0.state == .foreign } && !samples.contains { $0.state == .known }
    }

    private func grants(under keyRing: KeyRing) async throws(PostgresError) -> [SealedSample] {
        try await database.query(
            """
            (SELECT grant_id, sealed_refresh_token FROM provider_grants ORDER BY grant_id LIMIT \(Self.sampleSize))
            UNION ALL
            (SELECT grant_id, sealed_refresh_token FROM provider_grants ORDER BY grant_id DESC LIMIT \(Self.sampleSize))
            """, as: GrantID.self, [UInt8].self
        ).map { id, sealed in
            SealedSample(.grants, sealed, row: id.description, for: .grants, at: SealedGrant.location(id), keyRing)
        }
    }

    private func auditTrail(under keyRing: KeyRing) async throws(PostgresError) -> [SealedSample] {
        try await database.query(
            """
            SELECT key_id, min(seal_number)::text, false
            FROM (
                (SELECT key_id, seal_number FROM audit_seals ORDER BY seal_number LIMIT \(Self.sampleSize))
                UNION ALL
                (SELECT key_id, seal_number FROM audit_seals ORDER BY seal_number DESC LIMIT \(Self.sampleSize))
            ) AS seals
            GROUP BY key_id
            UNION ALL
            SELECT key_id, seal_number::text, true FROM audit_head
            ORDER BY 3, 1
            """, as: String.self, String.self, Bool.self
        ).map { keyID, number, isHead in
            SealedSample(
                kind: isHead ? .auditHead : .auditSeals, keyID: keyID, row: number,
                state: keyRing.subkey(keyID, for: .audit) == nil ? .unknown : .known)
        }
    }
}

extension SealedSample {
    fileprivate init(
        _ kind: Kind, _ sealed: [UInt8], row: String, for purpose: KeyRing.Purpose, at location: SealedLocation,
        _ keyRing: KeyRing
    ) {
        self.kind = kind
        self.row = row
        keyID = KeyRing.keyID(of: sealed) ?? ""
        do {
            _ = try keyRing.open(sealed, for: purpose, at: location)
            state = .known
        } catch {
            state =
                switch error {
                case .malformed: .malformed
                case .keyMissing: .unknown
                case .notAuthentic: .foreign
                }
        }
    }
}

extension [SealedSample] {
    /// The first of each kind, key and state.
    fileprivate var onePerKey: [SealedSample] {
        var seen: Set<String> = []
        return filter { seen.insert("\($0.kind) \($0.state) \($0.keyID)").inserted }
    }
}
