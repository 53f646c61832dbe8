import Accounts
import Primitives

/// The codes on their own that a provider has not answered yet, at most ``limit`` at each: made-up ones, which any client
/// can post, must use up neither what the provider allows our client nor the permits of other sign-ins.
package struct CodesUnderWay: Sendable {
    /// A sixth of the sign-ins that are let in. A provider that answers within 200 ms gets 160 a second.
    package static let limit = 32

    private let limits = Dictionary(
        uniqueKeysWithValues: Provider.allCases.map { ($0, ConcurrencyLimit(CodesUnderWay.limit)) })

    package init() {}

    /// Runs the exchange of one more code.
    ///
    /// - Returns: `nil` when there are too many, and nothing was run.
    func admit<Value>(
        at provider: Provider, _ exchange: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value? {
        try await limits[provider]?.admit(exchange)
    }
}
