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

    fileprivate init(_ text: String) { self.text = text }
}

/// For whom a session at the console stands.
enum ConsoleHolder: Equatable {
    case key(AdminKeyID)
    /// A member of the staff, by their name and address.
    case person(tag: [UInt8])

    fileprivate static let octets = MemoryLayout<uuid_t>.size

    /// Names a member of the staff: with another address it is another person.
    static func tag(of person: ConsoleStaff.Person) -> [UInt8] {
        Array(SHA256.hash(Array("countersign staff \(person.name) \(person.email.text)".utf8)).prefix(octets))
    }
}

/// The codec of ``ConsoleSecret``: 256 random bits, of which the database has the SHA-256, and the id of the key, or the tag
/// of the person, that they stand for, under the key ring's `console` subkey.
///
/// So it takes the database and the key ring to make a session. Who can write rows alone, by a stolen login of the service's
/// role, has no value for one of their making, nor can they make a session of their own one of another key.
struct ConsoleSecrets: Sendable {
    private static let keyVersion: UInt8 = 1
    private static let staffVersion: UInt8 = 2
    private static let randomOctets = 32
    private let codec: KeyedToken

    init(keyRing: KeyRing) {
        codec = KeyedToken(
            keyRing: keyRing, purpose: .console, domain: "countersign console session", headerOctets: 1,
            bodyOctets: ConsoleSecrets.randomOctets + ConsoleHolder.octets)
    }

    func fresh(for holder: ConsoleHolder) throws(AdministrationFailure) -> (secret: ConsoleSecret, hash: SecretHash) {
        let (version, named): (UInt8, [UInt8]) =
            switch holder {
            case .key(let id): (Self.keyVersion, withUnsafeBytes(of: id.uuid.uuid) { Array($0) })
            case .person(let tag): (Self.staffVersion, tag)
            }
        do {
            let random = try SecureRandom.bytes(ConsoleSecrets.randomOctets)
            let text = try codec.encode(header: [version], body: random + named)
            return (ConsoleSecret(text), SecretHash(SHA256.hash(random)))
        } catch {
            throw .fault(operation: "console session")
        }
    }

    /// What a value of this key ring's stands for; `nil` for anything else.
    func read(_ secret: ConsoleSecret) -> (hash: SecretHash, holder: ConsoleHolder)? {
        guard let (header, body) = codec.decode(secret.text) else { return nil }
        let hash = SecretHash(SHA256.hash(Array(body.prefix(ConsoleSecrets.randomOctets))))
        let named = Array(body.dropFirst(ConsoleSecrets.randomOctets))
        switch header {
        case [Self.keyVersion]:
            let uuid = named.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
            return (hash, .key(AdminKeyID(uuid: UUID(uuid: uuid))))
        case [Self.staffVersion]: return (hash, .person(tag: named))
        default: return nil
        }
    }
}
