package import Accounts
package import Logging
import Synchronization

/// Which refusals of our credentials at the providers are logged: one a minute for each key, however many codes come. The
/// metrics count them all.
package final class RefusedCredentials: Sendable {
    private static let pause = Duration.seconds(60)

    /// By key. The keys are those of the configuration.
    private let lines = Mutex<[String: (next: ContinuousClock.Instant, unlogged: Int)]>([:])

    package init() {}

    /// An error, however it shows: a wrong key costs everybody's codes. One that has no line is counted in the next.
    ///
    /// - Parameters:
    ///   - error: the provider's.
    ///   - redirectURI: that of the code, if it is one's that has any.
    package func log(
        _ error: String, at provider: Provider, keyID: String, clientID: ProviderClientID, redirectURI: String? = nil,
        to logger: Logger
    ) {
        guard let unlogged = sample(keyID, at: .now) else { return }
        var metadata: Logger.Metadata = [
            "provider": "\(provider.rawValue)", "error": "\(error)", "key": "\(keyID)", "client": "\(clientID)",
        ]
        if let redirectURI { metadata["redirectUri"] = "\(redirectURI)" }
        if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
        logger.error("client credentials refused by the provider, check the key", metadata: metadata)
    }

    /// - Returns: the number of refusals without a line since the last line, if this one is to be logged; `nil` if not.
    func sample(_ keyID: String, at now: ContinuousClock.Instant) -> Int? {
        lines.withLock { lines in
            guard let line = lines[keyID], now < line.next else {
                return lines.updateValue((now + Self.pause, 0), forKey: keyID)?.unlogged ?? 0
            }
            lines[keyID] = (line.next, line.unlogged + 1)
            return nil
        }
    }
}
