/// Why a change was refused. It is thrown from within the change, which so rolls back and gives back what it consumed (a
/// ticket, a code), and each use case turns it into its own failure in one place.
package enum Refusal: Error, Equatable, Sendable {
    /// The session of the call has ended, or what the change was based on has changed since.
    case sessionGone
    /// The person of the session authenticated too long ago for the change.
    case sessionNotFresh
    /// There is no such account, or it is not active where the change needs that.
    case accountNotFound
    case accountDisabled
    /// There is no such identity, or it belongs to another account.
    case identityNotFound
    case lastSignInMethod
    /// The link ticket is unknown, spent or over.
    case ticketExpired
    /// The password has changed, the code was used, the policy no longer binds by the address, or the account was signed
    /// out everywhere since the token was issued.
    case proofNoLongerValid
    /// The code leads into this account, which its person has yet to be shown. The code and the ticket stay good.
    case holderNotShown(Account)
    case identityAlreadyLinked
    /// The account has another identity of this provider and realm.
    case providerAlreadyLinked(Identity)
    /// The mailed code was used, or nothing has its address any more.
    case codeGone
    /// Another account has the address.
    case emailTaken
    /// The account has this address.
    case emailUnchanged
    /// The account has no sign-in method left: it needs an address.
    case emailRequired
    /// The account has a sign-in method, so only its owner may give it an address.
    case emailNotAllowed
}
