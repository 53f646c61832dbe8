package import Accounts
import Foundation
package import KeyRing
import OpenSSL
import Storage

/// The six digits of mailed codes: derived from a code's row and the key ring's `codes` subkey, so that neither a dump of
/// the database nor the outbox holds one.
package struct EmailCodes: Sendable {
    private static let domain = "countersign email code 1"
    private let keyRing: KeyRing

    package init(keyRing: KeyRing) {
        self.keyRing = keyRing
    }

    func new(for email: EmailAddress, purpose: EmailCodePurpose, at now: Timestamp) -> EmailCode {
        EmailCode(
            id: EmailCodeID(now: now), keyID: keyRing.current(for: .codes).keyID, email: email, purpose: purpose,
            expiresAt: now.advanced(bySeconds: EmailCode.lifetime))
    }

    /// `nil` when the key ring no longer holds the code's key.
    package func digits(of code: EmailCode) -> String? {
        guard let subkey = keyRing.subkey(code.keyID, for: .codes) else { return nil }
        // The parts of fixed length or alphabet first, the address last.
        var message = Array(EmailCodes.domain.utf8)
        withUnsafeBytes(of: code.id.uuid.uuid) { message += $0 }
        message += Array("\(code.purpose.rawValue) \(code.email.text)".utf8)
        guard let mac = try? HMACSHA256.authenticationCode(for: message, key: subkey.bytes) else { return nil }
        // 64 bits over a million: no digit is noticeably likelier than another.
        let number = mac.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// Whether the typed text is this code. Spaces between the digits don't count.
    func matches(_ typed: String, _ code: EmailCode) -> Bool {
        guard let digits = digits(of: code) else { return false }
        return constantTimeEquals(Array(typed.utf8.filter { $0 != 0x20 }), Array(digits.utf8))
    }
}
