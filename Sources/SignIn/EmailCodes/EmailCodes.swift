package import Accounts
import Foundation
package import KeyRing
import OpenSSL
package import Storage

/// The digits of mailed codes: derived from a code's row and the key ring's `codes` subkey, so that neither a dump of the
/// database nor the outbox holds one.
package struct EmailCodes: Sendable {
    private let keyRing: KeyRing

    package init(keyRing: KeyRing) { self.keyRing = keyRing }

    /// A request for a code, with what a new one would be.
    ///
    /// - Parameter end: of the code at the latest.
    package func request(
        for email: EmailAddress, purpose: EmailCodePurpose, ticketHash: SecretHash? = nil, until end: Timestamp? = nil,
        network: Network?, language: String, by call: Call
    ) throws(SignInFailure) -> EmailCodeRequest {
        let expiresAt = call.now.advanced(bySeconds: Lifetimes.emailCodeSeconds)
        let code = EmailCode(
            id: EmailCodeID(now: call.now), keyID: keyRing.current(for: .codes).keyID, email: email, purpose: purpose,
            expiresAt: end.map { min($0, expiresAt) } ?? expiresAt)
        return EmailCodeRequest(
            code: code, ticketHash: ticketHash, addressKeys: try addressKeys(of: email), network: network,
            language: language)
    }

    /// The digests by which wrong tries at an address's codes are remembered. One for each line of the key ring, the first
    /// line's first: what was written under another is found, and moves.
    private func addressKeys(of email: EmailAddress) throws(SignInFailure) -> [[UInt8]] {
        do {
            return try keyRing.all(for: .codes).map { subkey in
                try HMACSHA256.authenticationCode(
                    for: Array("countersign guessed address 1 \(email.text)".utf8), key: subkey.bytes
                ).bytes
            }
        } catch {
            throw .fault(operation: "address key")
        }
    }

    /// `nil` when the key ring no longer holds the code's key.
    package func digits(of code: EmailCode) -> String? {
        guard let subkey = keyRing.subkey(code.keyID, for: .codes) else { return nil }
        // A domain for each length: a code of six digits is no part of one of ten. Then the parts of fixed length or
        // alphabet, the address last.
        let domain =
            switch code.length {
            case .six: "countersign email code 1"
            case .ten: "countersign email code of ten digits 1"
            }
        var message = Array(domain.utf8)
        withUnsafeBytes(of: code.id.uuid.uuid) { message += $0 }
        message += Array("\(code.purpose.rawValue) \(code.email.text)".utf8)
        guard let mac = try? HMACSHA256.authenticationCode(for: message, key: subkey.bytes) else { return nil }
        // 64 bits over ten thousand million: no digit is noticeably likelier than another.
        let modulus: UInt64 =
            switch code.length {
            case .six: 1_000_000
            case .ten: 10_000_000_000
            }
        let digits = String(mac.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % modulus)
        return String(repeating: "0", count: Int(code.length.rawValue) - digits.utf8.count) + digits
    }

    /// Whether the typed text is this code.
    func matches(_ typed: String, _ code: EmailCode) -> Bool {
        guard let digits = digits(of: code) else { return false }
        return constantTimeEquals(Self.plain(typed), Array(digits.utf8))
    }

    /// A typed code with the digits of ASCII: keyboards of other scripts have some of their own, and a copy from a mail may
    /// bring white space and marks of direction along.
    private static func plain(_ typed: String) -> [UInt8] {
        typed.unicodeScalars.flatMap { scalar -> [UInt8] in
            let properties = scalar.properties
            if properties.isWhitespace || properties.generalCategory == .format { return [] }
            guard properties.numericType == .decimal,
                let value = properties.numericValue.flatMap({ UInt8(exactly: $0) })
            else { return Array(String(scalar).utf8) }
            return [UInt8(ascii: "0") &+ value]
        }
    }
}
