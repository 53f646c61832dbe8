/// An identity whose provider has disabled the person's account.
package struct BlockedIdentity: Sendable {
    package let id: IdentityID
    package let accountID: AccountID
    package let key: IdentityKey
    package let block: Identity.Block

    package init(id: IdentityID, accountID: AccountID, key: IdentityKey, block: Identity.Block) {
        self.id = id
        self.accountID = accountID
        self.key = key
        self.block = block
    }
}
