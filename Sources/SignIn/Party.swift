package import Accounts
import Primitives

/// Whom a place is given to where places are scarce: what counts for one of these counts for the others, since one person can
/// have many addresses of a network, and many networks of a wide one.
package enum Party: Hashable, Sendable {
    case wideNetwork(Network)
    case network(Network)
    /// An account or identity that the caller has proven.
    case subject(String)
}

extension Caller {
    /// The caller's shares of a scarce place, the widest first.
    ///
    /// - Parameters:
    ///   - network: what one network may have at once; a wide network may have twice as much.
    ///   - subject: whom the caller has proven to be, and how much may be for them at once.
    func shares(network limit: Int, of subject: (name: String, limit: Int)?) -> [Share<Party>] {
        var shares: [Share<Party>] = []
        if let wideNetwork { shares.append(Share(of: .wideNetwork(wideNetwork), 2 * limit)) }
        if let network { shares.append(Share(of: .network(network), limit)) }
        if let subject { shares.append(Share(of: .subject(subject.name), subject.limit)) }
        return shares
    }
}
