import Accounts
import Primitives

/// The codes that a provider has not answered yet. Any client can post made-up ones, alone or beside a token of its own, and
/// they must use up neither what the provider allows our client nor the permits of other sign-ins: so there are places for few
/// at a time, and of each network for fewer.
package struct CodesUnderWay: Sendable {
    /// The places of codes on their own: an eighth of the requests that are let in. A provider that answers within 200 ms
    /// gets 160 a second.
    package static let limit = 32
    /// The places of codes beside a verified token. Where there is none the token signs in alone, so they are apart: codes
    /// without a token, whose sign-in fails without a place, can't lose theirs to them.
    package static let limitBesideToken = 64
    /// The part of the places that one network may have; a wide one may have twice as many.
    private static let networkPart = 4
    /// The codes beside tokens of one person.
    private static let identityShare = 2

    private struct Places {
        let alone = FairLimit<Party>(running: CodesUnderWay.limit)
        let besideToken = FairLimit<Party>(running: CodesUnderWay.limitBesideToken)
    }

    private let places = Dictionary(uniqueKeysWithValues: Provider.allCases.map { ($0, Places()) })

    /// Runs the exchange of one more code.
    ///
    /// - Parameter identity: whose verified token is beside the code, if there is one.
    /// - Returns: `nil` when there are too many, and nothing was run.
    func admit<Value>(
        at provider: Provider, beside identity: IdentityKey?, by call: Call,
        _ exchange: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value? {
        guard let identity else {
            let shares = call.caller.shares(network: Self.limit / Self.networkPart, of: nil)
            return try await places[provider]?.alone.admit(shares, exchange)
        }
        let shares = call.caller.shares(
            network: Self.limitBesideToken / Self.networkPart, of: (identity.subject.text, Self.identityShare))
        return try await places[provider]?.besideToken.admit(shares, exchange)
    }
}
