import Accounts
import Synchronization

/// Access tokens that have been verified, by their SHA-256. An app sends the same one for a quarter of an hour, and checking
/// its signature is the most of what a look at an account costs a process. Whether the session is live is not kept here.
///
/// Two generations, of which each has at most ``limit`` tokens: a full one takes the place of the older one, whose tokens are
/// dropped, but for those that came again.
final class VerifiedTokens: Sendable {
    struct Token: Sendable {
        let sessionID: SessionID
        /// The key that signed it: it counts for as long as that one is published.
        let keyID: [UInt8]
        /// Seconds since 1970.
        let issuedAt: Int64
        let expiresAt: Int64
    }

    private struct Generations {
        var newer: [[UInt8]: Token] = [:]
        var older: [[UInt8]: Token] = [:]
    }

    let limit: Int
    private let generations = Mutex(Generations())

    init(limit: Int = 4_096) { self.limit = limit }

    var count: Int { generations.withLock { $0.newer.count + $0.older.count } }

    func token(_ hash: [UInt8]) -> Token? {
        generations.withLock { generations in
            if let token = generations.newer[hash] { return token }
            guard let token = generations.older.removeValue(forKey: hash) else { return nil }
            insert(token, hash, into: &generations)
            return token
        }
    }

    func insert(_ token: Token, _ hash: [UInt8]) { generations.withLock { insert(token, hash, into: &$0) } }

    private func insert(_ token: Token, _ hash: [UInt8], into generations: inout Generations) {
        if generations.newer.count >= limit {
            generations.older = generations.newer
            generations.newer = [:]
        }
        generations.newer[hash] = token
    }
}
