import Accounts
import KeyRing
import OpenSSL
import TestSupport
import Testing

@testable import Administration
@testable import SignIn

/// The value of the console's cookie under the key ring.
@Suite struct ConsoleSecretTests {
    private static let key = AdminKeyID(now: Timestamp(seconds: SignInFixture.start))

    private static func secrets(_ lines: (String, UInt8)...) throws -> ConsoleSecrets {
        ConsoleSecrets(keyRing: try SignInFixture.makeKeyRing(lines: lines.map { (id: $0.0, octet: $0.1) }))
    }

    @Test func `it stands for the row and the key that it was made for`() throws {
        let secrets = try Self.secrets(("k1", 7))
        let made = try secrets.fresh(for: .key(Self.key))
        let presented = try #require(ConsoleSecret(presented: made.secret.text))
        let read = try #require(secrets.read(presented))
        #expect(read.hash.bytes == made.hash.bytes)
        #expect(read.holder == .key(Self.key))
        #expect(try secrets.fresh(for: .key(Self.key)).hash.bytes != made.hash.bytes)
    }

    @Test func `that of staff stands for a name with its address, and never for a key`() throws {
        let secrets = try Self.secrets(("k1", 7))
        func tag(_ name: String, _ email: String) throws -> [UInt8] {
            ConsoleHolder.tag(
                of: ConsoleStaff.Person(name: name, email: try #require(EmailAddress(email)), scopes: [.read]))
        }
        let kim = try tag("kim", "kim@example.com")
        let made = try secrets.fresh(for: .person(tag: kim)).secret
        #expect(secrets.read(made)?.holder == .person(tag: kim))
        let others = [try tag("ann", "kim@example.com"), try tag("kim", "ann@example.com")]
        #expect(!others.contains(kim) && others[0] != others[1])
    }

    @Test func `every line of the key ring reads it, and another line of the same name does not`() throws {
        let made = try Self.secrets(("k1", 7)).fresh(for: .key(Self.key)).secret
        #expect(try Self.secrets(("k2", 8), ("k1", 7)).read(made) != nil)
        #expect(try Self.secrets(("k2", 8)).read(made) == nil)
        #expect(try Self.secrets(("k1", 8)).read(made) == nil)
    }

    @Test func `no octet of it can be another`() throws {
        let secrets = try Self.secrets(("k1", 7))
        let text = Array(try secrets.fresh(for: .key(Self.key)).secret.text.utf8)
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let presented = try #require(ConsoleSecret(presented: String(decoding: changed, as: UTF8.self)))
            #expect(secrets.read(presented) == nil, "\(index)")
        }
        for text in ["", "x", String(repeating: "A", count: 256), try OpaqueSecret().text] {
            #expect(secrets.read(try #require(ConsoleSecret(presented: text))) == nil)
        }
        #expect(ConsoleSecret(presented: String(repeating: "A", count: 257)) == nil)
    }

    @Test func `a token of its form with another subkey, domain or version is none`() throws {
        let keyRing = try SignInFixture.makeKeyRing()
        let secrets = ConsoleSecrets(keyRing: keyRing)
        func text(
            _ purpose: KeyRing.Purpose = .console, domain: String = "countersign console session", version: UInt8 = 1
        ) throws -> String {
            try KeyedToken(keyRing: keyRing, purpose: purpose, domain: domain, headerOctets: 1, bodyOctets: 48)
                .encode(header: [version], body: [UInt8](repeating: 7, count: 48))
        }
        #expect(secrets.read(try #require(ConsoleSecret(presented: try text()))) != nil)
        for other in [try text(.refresh), try text(domain: ""), try text(version: 3)] {
            #expect(secrets.read(try #require(ConsoleSecret(presented: other))) == nil)
        }
    }
}
