/// What accounts are looked for by. All that is given has to hold.
package struct AccountFilter: Sendable {
    package var email: EmailAddress?
    /// As it stands in the normalised address.
    package var emailPrefix: String?
    /// The whole name, in whatever case.
    package var name: String?
    package var provider: Provider?
    package var subject: ProviderSubject?
    package var status: Account.Status?

    package init() {}
}

/// Where the next page of accounts begins: behind this account.
package struct AccountCursor: Sendable {
    package let id: AccountID
    /// In a list by email prefix, which goes by the address.
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

    package init(account: Account, disabledReason: String?) {
        self.account = account
        self.disabledReason = disabledReason
    }
}
