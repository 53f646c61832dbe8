/// What a mailed code is good for.
package enum EmailCodePurpose: String, CaseIterable, Sendable {
    case signIn
    case bind
    case verifyEmail
    case resetPassword
}

/// A code that was mailed to an address: whoever knows it reads the mailbox. Its six digits are derived from these values
/// and the key ring.
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

    /// Seconds.
    package static let lifetime: Int64 = 600
    /// How often a code may be guessed at.
    package static let maximumTries: Int32 = 5
}

package typealias EmailCodeID = Identifier<EmailCode>
