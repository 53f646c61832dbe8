/// A mail to a person.
package struct Mail: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case signInCode = "sign_in_code"
        case bindCode = "bind_code"
        case verifyEmailCode = "verify_email_code"
        case resetPasswordCode = "reset_password_code"
        case registerCode = "register_code"
        /// In place of a code for a new account, where another account has the address.
        case registerTaken = "register_taken"
        /// In place of a code for a new password, where the account's address is only stated.
        case resetBySignIn = "reset_by_sign_in"
        /// An account was made with the address, on a provider's word alone.
        case accountCreated = "account_created"
        /// A reader of the mailbox took the account's address. This goes to the mailboxes of its identities.
        case emailTaken = "email_taken"
        /// The first sign-in by an identity of an account since a reader of its mailbox took that over.
        case signedIn = "signed_in"
        case identityLinked = "identity_linked"
        case identityUnlinked = "identity_unlinked"
        /// Another identity of the provider took the place of the one that was linked.
        case identityReplaced = "identity_replaced"
        case passwordChanged = "password_changed"
        /// A change of the account's address was requested. This goes to the old address.
        case emailChangeRequested = "email_change_requested"
        case emailChanged = "email_changed"
        /// An administrator is about to replace the address. This goes to every mailbox of the account.
        case emailReplacementRequested = "email_replacement_requested"
        /// A client of the OAuth server was linked to the account.
        case clientLinked = "client_linked"
        case clientUnlinked = "client_unlinked"

        package init(code purpose: EmailCodePurpose) {
            switch purpose {
            case .signIn: self = .signInCode
            case .bind: self = .bindCode
            case .verifyEmail: self = .verifyEmailCode
            case .resetPassword: self = .resetPasswordCode
            case .register: self = .registerCode
            }
        }
    }

    package let kind: Kind
    package let recipient: EmailAddress
    /// A language of the templates, such as `en`.
    package let language: String
    /// The provider that it is about, if any.
    package let provider: Provider?
    /// The client of the OAuth server that it is about, if any.
    package let clientName: String?

    package init(
        _ kind: Kind, to recipient: EmailAddress, in language: String, provider: Provider? = nil,
        clientName: String? = nil
    ) {
        self.kind = kind
        self.recipient = recipient
        self.language = language
        self.provider = provider
        self.clientName = clientName
    }
}

package typealias MailID = Identifier<Mail>
