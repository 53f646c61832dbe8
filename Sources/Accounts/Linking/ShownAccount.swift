/// An account as the person of a ticket has been shown it. What has been linked to it since, they have not seen.
package struct ShownAccount: Hashable, Sendable {
    package let id: AccountID
    package let identities: [IdentityID]

    package init(id: AccountID, identities: [IdentityID]) {
        self.id = id
        self.identities = identities
    }

    package init(_ account: Account) { self.init(id: account.id, identities: account.identities.map(\.id)) }

    /// Whether it is this account, without an identity that was not shown.
    package func covers(_ account: Account) -> Bool {
        account.id == id && account.identities.allSatisfy { identities.contains($0.id) }
    }
}
