/// The conditions of a search for accounts. All that are given must hold.
package struct AccountFilter: Sendable {
    package var email: EmailAddress?
    /// An address that the provider of an identity states, a relay address too.
    package var identityEmail: EmailAddress?
    package var externalID: ExternalID?
    /// A prefix of the normalised address.
    package var emailPrefix: String?
    /// The whole name, in any case.
    package var name: DisplayName?
    package var provider: Provider?
    package var subject: ProviderSubject?
    package var status: Account.Status?

    package init() {}
}

/// The account after which the next page of accounts begins.
package struct AccountCursor: Sendable {
    package let id: AccountID
    /// Set in a list by email prefix, which is ordered by address.
    package let email: EmailAddress?

    package init(id: AccountID, email: EmailAddress?) {
        self.id = id
        self.email = email
    }
}

/// An account as an administrator sees it.
package struct AccountRecord: Sendable {
    package let account: Account
    package let disabledReason: String?
    /// The replacement of its address that is not in effect yet.
    package let emailReplacement: EmailReplacement?

    package init(account: Account, disabledReason: String?, emailReplacement: EmailReplacement?) {
        self.account = account
        self.disabledReason = disabledReason
        self.emailReplacement = emailReplacement
    }
}
