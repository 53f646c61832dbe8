package import JOSE

/// Why a provider's credential was refused, and when it may be worth another try.
package struct CredentialRefusal: Error, Sendable, Equatable {
    package let reason: TokenRejection
    /// Seconds until the keys may be asked for again: set for `keysUnavailable`, and for `keyUnknown` while a refetch
    /// is barred.
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
