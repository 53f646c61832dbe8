package import Curl
package import JOSE

/// A fetched key set and its times, in seconds since 1970. Immutable: the next one replaces it.
struct KeySetSnapshot: Sendable {
    let keys: KeySet
    let fetchedAt: Int64
    let refreshAt: Int64

    /// - Parameter lifetime: in seconds, as the provider states it.
    init(keys: KeySet, fetchedAt: Int64, lifetime: Int64) {
        self.keys = keys
        self.fetchedAt = fetchedAt
        refreshAt = fetchedAt + lifetime / 5 * 4
    }

    /// Whether a fetch is due. Also when the clock was set back to before the fetch: the set's age is unknown then.
    func isDue(at now: Int64) -> Bool { now >= refreshAt || now < fetchedAt }

    func isTrusted(at now: Int64) -> Bool { now - fetchedAt < KeySetCache.longestOutage }
}

/// The reason why a fetch brought no key set.
package enum KeySetFetchFailure: Error {
    case request(FetchError.Code)
    case status(Int)
    case document(KeySetError)

    /// The reason for logs and the health page, without any text from the wire.
    package var reason: String {
        switch self {
        case .request(let code): code.rawValue
        case .status(let status): "status \(status)"
        case .document(.tooLarge): FetchError.Code.tooLarge.rawValue
        case .document(.malformed): "malformed"
        case .document(.notAKeySet): "not a key set"
        case .document(.tooManyKeys): "too many keys"
        case .document(.noUsableKey): "no usable key"
        }
    }
}
