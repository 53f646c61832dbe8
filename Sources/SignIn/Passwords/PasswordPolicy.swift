package import Accounts
import Primitives

/// The rule for new passwords: 8 to 1,024 bytes, as typed and in the normal form, none of the common ones, and not the
/// account's own address.
package enum PasswordPolicy {
    package static let bytes = 8...1024

    /// What a password is refused for.
    package enum Weakness: Equatable, Sendable {
        case tooShort
        case tooLong
        /// Among the first that are guessed: a common one, one character again and again, the account's own address.
        case tooCommon
    }

    /// Refuses a new password that is not good enough.
    package static func require(_ password: String, for email: EmailAddress?) throws(SignInFailure) {
        if let weakness = weakness(of: password, for: email) { throw .weakPassword(weakness) }
    }

    private static func weakness(of password: String, for email: EmailAddress?) -> Weakness? {
        if let weakness = length(of: password) { return weakness }
        // What is hashed has to be as good: two letters of four bytes may be the fancy forms of two in ASCII.
        let spellings = PasswordSpellings(password)
        if let weakness = length(of: spellings.normal) { return weakness }
        if let email, spellings.all.contains(where: { isAddress($0, email) }) { return .tooCommon }
        let folded = String(decoding: spellings.normal.utf8.map(\.asciiLowercased), as: UTF8.self)
        guard let first = folded.utf8.first, !folded.utf8.allSatisfy({ $0 == first }) else { return .tooCommon }
        return CommonPasswords.list.contains(folded) ? .tooCommon : nil
    }

    /// Whether a text is the address in another spelling: what is not of ASCII before the `@` is kept as it was typed.
    private static func isAddress(_ text: String, _ email: EmailAddress) -> Bool {
        func folded(_ address: EmailAddress) -> String { PasswordSpellings(address.text).normal.lowercased() }
        return EmailAddress.existing(text).map(folded) == folded(email)
    }

    private static func length(of text: String) -> Weakness? {
        guard text.utf8.count >= bytes.lowerBound else { return .tooShort }
        return text.utf8.count > bytes.upperBound ? .tooLong : nil
    }
}
