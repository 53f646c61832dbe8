import Accounts
import Synchronization

/// The codes on their own that a provider has not answered yet, at most ``limit`` at each: made-up ones, which any client
/// can post, must use up neither what the provider allows our client nor the permits of other sign-ins.
package final class CodesUnderWay: Sendable {
    /// A sixth of the sign-ins that are let in. A provider that answers within 200 ms gets 160 a second.
    package static let limit = 32

    private let counts = Mutex<[Provider: Int]>([:])

    package init() {}

    /// Runs the exchange of one more code.
    ///
    /// - Returns: `nil` when there are too many, and nothing was run.
    func admit<Value>(
        at provider: Provider, _ exchange: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value? {
        let isAdmitted = counts.withLock { counts in
            guard counts[provider, default: 0] < CodesUnderWay.limit else { return false }
            counts[provider, default: 0] += 1
            return true
        }
        guard isAdmitted else { return nil }
        defer { counts.withLock { $0[provider, default: 1] -= 1 } }
        return try await exchange()
    }
}
