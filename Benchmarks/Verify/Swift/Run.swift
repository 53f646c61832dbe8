import Foundation
import JOSE
import OpenSSL
import Synchronization

/// One measurement: the tokens of one algorithm over and over, on one thread or several that share the keys.
final class Run: Sendable {
    private let tokens: [[UInt8]]
    private let keys: KeySet
    private let rules = ClaimRules(issuers: [Mint.issuer], audiences: [Mint.audience])
    private let verified = Atomic(0)
    private let failure = Mutex<TokenRejection?>(nil)

    init(_ algorithm: SignatureAlgorithm, in directory: URL) throws {
        keys = try KeySet(parsing: Array(Data(contentsOf: directory.appending(path: "jwks.json"))))
        let text = try Data(contentsOf: directory.appending(path: "\(algorithm.rawValue).tokens"))
        tokens = text.split(separator: UInt8(ascii: "\n")).map { Array($0) }
    }

    /// Verifications per second of all threads together.
    func rate(for seconds: Double, threads: Int) throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        let end = start.advanced(by: .seconds(seconds))
        let finished = DispatchGroup()
        for _ in 0..<threads {
            finished.enter()
            Thread.detachNewThread {
                self.work(until: end, clock)
                finished.leave()
            }
        }
        finished.wait()
        if let failure = failure.withLock({ $0 }) { throw failure }
        return Double(verified.load(ordering: .relaxed)) / (clock.now - start).seconds
    }

    private func work(until end: ContinuousClock.Instant, _ clock: ContinuousClock) {
        do throws(TokenRejection) {
            var count = 0
            while clock.now < end {
                for token in tokens { try verify(token) }
                count += tokens.count
            }
            verified.add(count, ordering: .relaxed)
        } catch {
            failure.withLock { $0 = error }
        }
    }

    /// Verifies a token as a sign-in does when its key is known.
    private func verify(_ token: [UInt8]) throws(TokenRejection) {
        let verified = try UnverifiedToken(token).verified(by: keys)
        _ = try rules.check(verified, at: Int64(time(nil)))
    }
}

extension Duration {
    fileprivate var seconds: Double { self / .seconds(1) }
}
