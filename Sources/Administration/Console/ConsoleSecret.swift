import Accounts
import Foundation
import KeyRing
import OpenSSL

/// The value of `csn_console`: an administrator's session at the console, as their browser has it.
package struct ConsoleSecret: Sendable {
    package let text: String

    /// A presented value, which may be anything.
    package init?(presented text: String) {
        guard text.utf8.count <= 256 else { return nil }
        self.text = text
    }

    fileprivate init(_ text: String) {
        self.text = text
    }
}

/// The codec of ``ConsoleSecret``: 256 random bits, of which the database has the SHA-256, and the id of the key that they
/// stand for, under the key ring's `console` subkey.
///
/// So it takes the database and the key ring to make a session. Who can write rows alone, by a stolen login of the service's
/// role, has no value for one of their making, nor can they make a session of their own one of another key.
struct ConsoleSecrets: Sendable {
    private static let version: UInt8 = 1
    private static let randomOctets = 32
    private let codec: KeyedToken

    init(keyRing: KeyRing) {
        codec = KeyedToken(
            keyRing: keyRing, purpose: .console, domain: "countersign console session", headerOctets: 1,
            bodyOctets: ConsoleSecrets.randomOctets + MemoryLayout<uuid_t>.size)
    }

    func fresh(for keyID: AdminKeyID) throws(OpenSSLError) -> (secret: ConsoleSecret, hash: [UInt8]) {
        let random = try SecureRandom.bytes(ConsoleSecrets.randomOctets)
        let body = random + withUnsafeBytes(of: keyID.uuid.uuid) { Array($0) }
        return (
            ConsoleSecret(try codec.encode(header: [ConsoleSecrets.version], body: body)), SHA256.hash(random)
        )
    }

    /// What a value of this key ring's stands for; `nil` for anything else.
    func read(_ secret: ConsoleSecret) -> (hash: [UInt8], keyID: AdminKeyID)? {
        guard let (header, body) = codec.decode(secret.text), header == [ConsoleSecrets.version] else { return nil }
        let uuid = body[ConsoleSecrets.randomOctets...].withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        return (
            SHA256.hash(Array(body.prefix(ConsoleSecrets.randomOctets))), AdminKeyID(uuid: UUID(uuid: uuid))
        )
    }
}
