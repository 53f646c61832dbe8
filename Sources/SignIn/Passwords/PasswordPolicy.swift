package import Accounts
import Primitives

/// The rule for new passwords: 8 to 1,024 bytes, none of the common ones, and not the account's own address.
package enum PasswordPolicy {
    package static let bytes = 8...1024

    package static func accepts(_ password: String, for email: EmailAddress?) -> Bool {
        guard bytes.contains(password.utf8.count) else { return false }
        let folded = String(decoding: password.utf8.map(\.asciiLowercased), as: UTF8.self)
        if let email, folded.utf8.elementsEqual(email.text.utf8) { return false }
        guard let first = folded.utf8.first, !folded.utf8.allSatisfy({ $0 == first }) else { return false }
        return !CommonPasswords.list.contains(folded)
    }
}
