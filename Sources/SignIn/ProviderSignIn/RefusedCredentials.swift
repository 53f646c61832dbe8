import Synchronization

/// Which refusals of our credentials at the providers are logged: one a minute for each key, however many codes come. The
/// metrics count them all.
final class RefusedCredentials: Sendable {
    private static let pause = Duration.seconds(60)

    /// By key. The keys are those of the configuration.
    private let lines = Mutex<[String: (next: ContinuousClock.Instant, unlogged: Int)]>([:])

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
