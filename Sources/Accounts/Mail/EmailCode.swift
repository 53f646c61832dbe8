/// The purpose of a mailed code.
package enum EmailCodePurpose: String, CaseIterable, Sendable {
    case signIn
    case bind
    case verifyEmail
    case resetPassword
    /// For an account that doesn't exist yet: on our own page alone.
    case register
}

/// A code that was mailed to an address: knowing it proves access to the mailbox. Its digits are derived from these values
/// and the key ring.
package struct EmailCode: Hashable, Sendable {
    /// The number of digits.
    package enum Length: Int32, CaseIterable, Sendable {
        case six = 6
        /// While the address, or the service, is under attack.
        case ten = 10
    }

    package let id: EmailCodeID
    /// The line of the key ring that it is derived under.
    package let keyID: String
    package let email: EmailAddress
    package let purpose: EmailCodePurpose
    package let length: Length
    package let expiresAt: Timestamp

    package init(
        id: EmailCodeID, keyID: String, email: EmailAddress, purpose: EmailCodePurpose, length: Length = .six,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.keyID = keyID
        self.email = email
        self.purpose = purpose
        self.length = length
        self.expiresAt = expiresAt
    }

    /// The same code with as many digits. Codes that differ in their length alone have no digits in common but by chance.
    package func with(_ length: Length) -> EmailCode {
        EmailCode(id: id, keyID: keyID, email: email, purpose: purpose, length: length, expiresAt: expiresAt)
    }
}

package typealias EmailCodeID = Identifier<EmailCode>
