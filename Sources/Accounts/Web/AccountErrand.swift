/// What a person can do on the page of their account that may have to wait for another sign-in.
package enum AccountAct: Codable, Hashable, Sendable {
    /// - Parameter typed: what stands in the field.
    case rename(typed: String?)
    case changeEmail(typed: String?)
    case changePassword
    case link(Provider)
    case unlinkIdentity(IdentityID)
    case unlinkClient(OAuthClientID)
    case export
    case delete
}

/// Why a browser is on its way through a flow that ends at the page of the account. It lies in the flow's row: no address
/// says where to come back to.
package struct AccountErrand: Codable, Hashable, Sendable {
    package let act: AccountAct
    /// The account that was signed in when the flow began; the person may sign in to another one. `nil` when none was.
    package let account: AccountID?
    /// The session whose account gets the identity that the browser is sent to a provider for; `nil` where the person
    /// signs in, and does the rest after that.
    package let session: SessionID?

    package init(_ act: AccountAct, of account: AccountID?, linkingTo session: SessionID? = nil) {
        self.act = act
        self.account = account
        self.session = session
    }
}
