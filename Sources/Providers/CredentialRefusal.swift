package import JOSE

/// The refusal of a provider's credential: the reason, and when another try may succeed.
package struct CredentialRefusal: Error, Sendable, Equatable {
    package let reason: TokenRejection
    /// Seconds until the keys may be fetched again, or there may be a place to wait for them: set for `keysUnavailable`, and for
    /// `keyUnknown` while a refetch is barred or waited for by many.
    package let retryAfter: Int64?

    package init(_ reason: TokenRejection, retryAfter: Int64? = nil) {
        self.reason = reason
        self.retryAfter = retryAfter
    }
}

extension CredentialRefusal: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "The credential was refused." }

    package var debugDescription: String {
        "CredentialRefusal(\(reason.rawValue)\(retryAfter.map { ", retry after \($0) s" } ?? ""))"
    }
}
