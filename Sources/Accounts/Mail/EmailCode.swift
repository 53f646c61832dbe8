/// The purpose of a mailed code.
package enum EmailCodePurpose: String, CaseIterable, Sendable {
    case signIn
    case bind
    case verifyEmail
    case resetPassword
}

/// A code that was mailed to an address: knowing it proves access to the mailbox. Its six digits are derived from these
/// values and the key ring.
package struct EmailCode: Hashable, Sendable {
    package let id: EmailCodeID
    /// The line of the key ring that it is derived under.
    package let keyID: String
    package let email: EmailAddress
    package let purpose: EmailCodePurpose
    package let expiresAt: Timestamp

    package init(
        id: EmailCodeID, keyID: String, email: EmailAddress, purpose: EmailCodePurpose, expiresAt: Timestamp
    ) {
        self.id = id
        self.keyID = keyID
        self.email = email
        self.purpose = purpose
        self.expiresAt = expiresAt
    }

    /// Seconds for which a code is valid.
    package static let lifetime: Int64 = 600
    /// The number of guesses that a code permits.
    package static let maximumTries: Int32 = 5
}

package typealias EmailCodeID = Identifier<EmailCode>
