import Accounts
import JOSE
import KeyRing
import OpenSSL
import Storage

/// The signing keys as of one read of the database. Each is opened by itself: one that can't be opened harms no other.
struct SigningKeySnapshot: Sendable {
    private struct OpenKey: Sendable {
        let signer: TokenSigner
        let publicKey: PublicKey
        let published: PublicJWK
    }

    let stored: [StoredSigningKey]
    /// The reasons why stored keys can't be opened, by key id.
    let unreadable: [String: any Error]
    /// The public keys that verify our tokens.
    let verifying: KeySet
    /// The published document (RFC 7517), ready to send.
    let document: [UInt8]
    private let open: [String: OpenKey]

    /// - Parameter before: the previous snapshot. Its keys are reused while they are stored: a key id always names one key.
    init(opening stored: [StoredSigningKey], keyRing: KeyRing, before: SigningKeySnapshot? = nil) {
        var open: [String: OpenKey] = [:]
        var unreadable: [String: any Error] = [:]
        for key in stored {
            do {
                open[key.keyID] = try before?.open[key.keyID] ?? SigningKeySnapshot.open(key, keyRing: keyRing)
            } catch {
                unreadable[key.keyID] = error
            }
        }
        self.stored = stored
        self.unreadable = unreadable
        self.open = open
        let usable = stored.compactMap { key in open[key.keyID].map { (id: key.keyID, key: $0) } }
        verifying = KeySet(keys: usable.map { ($0.id, $0.key.publicKey) })
        document = PublicJWK.document(usable.map(\.key.published))
    }

    /// The signer of the current key, never of another one.
    ///
    /// - Throws: the reason why the key can't be used.
    func signer(at now: Timestamp) throws -> TokenSigner {
        guard let key = stored.signing(at: now) else { throw SignInFailure.fault(operation: "choose a signing key") }
        if let signer = open[key.keyID]?.signer { return signer }
        throw unreadable[key.keyID] ?? SignInFailure.fault(operation: "open a signing key")
    }

    private static func open(_ key: StoredSigningKey, keyRing: KeyRing) throws -> OpenKey {
        var der = try keyRing.open(key.sealedPrivateKey, for: .signing, at: StoredSigningKey.location(keyID: key.keyID))
        defer { cleanse(&der) }
        let privateKey = try P256PrivateKey(der: der)
        return OpenKey(
            signer: TokenSigner(key: privateKey, keyID: key.keyID, type: "at+jwt"), publicKey: privateKey.publicKey,
            published: PublicJWK(privateKey, keyID: key.keyID))
    }
}
