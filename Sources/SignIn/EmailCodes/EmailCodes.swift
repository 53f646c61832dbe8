package import Accounts
import Foundation
package import KeyRing
import OpenSSL
package import Storage

/// The digits of mailed codes: derived from a code's row and the key ring's `codes` subkey, so that neither a dump of the
/// database nor the outbox holds one.
package struct EmailCodes: Sendable {
    private let keyRing: KeyRing

    package init(keyRing: KeyRing) {
        self.keyRing = keyRing
    }

    /// A request for a code, with what a new one would be.
    package func request(
        for email: EmailAddress, purpose: EmailCodePurpose, ticketHash: SecretHash? = nil, network: Network?,
        language: String, by call: Call
    ) throws(SignInFailure) -> EmailCodeRequest {
        let code = EmailCode(
            id: EmailCodeID(now: call.now), keyID: keyRing.current(for: .codes).keyID, email: email, purpose: purpose,
            expiresAt: call.now.advanced(bySeconds: Lifetimes.emailCodeSeconds))
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

    /// Whether the typed text is this code. Spaces between the digits don't count.
    func matches(_ typed: String, _ code: EmailCode) -> Bool {
        guard let digits = digits(of: code) else { return false }
        return constantTimeEquals(typed.utf8.filter { $0 != 0x20 }, Array(digits.utf8))
    }
}
