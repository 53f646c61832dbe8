package import Accounts
package import Primitives

/// The changes of accounts that their owners have under way. Each waits for its account's row, and holds a connection of the
/// database meanwhile, so one account has places for half as many as there are connections. One session has two of them: its
/// button may be pressed twice, and a stolen one does not keep the owner's others from ending it.
package struct AccountChanges: Sendable {
    private let places = FairLimit<Party>(running: .max)
    private let accountShare: Int

    init(connections: Int) { accountShare = max(3, connections / 2) }

    /// A place for one more, freed with the value.
    ///
    /// - Throws: ``SignInFailure/overloaded(retryAfter:)`` when the account or the session has its share.
    package func begin(by session: Session) throws(SignInFailure) -> FairLimit<Party>.Place {
        let shares = [
            Share(of: Party.subject("\(session.accountID)"), accountShare),
            Share(of: Party.subject("\(session.id)"), 2),
        ]
        guard let place = places.acquire(shares) else { throw .overloaded(retryAfter: 1) }
        return place
    }
}
