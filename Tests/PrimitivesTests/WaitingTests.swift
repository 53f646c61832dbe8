import Foundation
import Primitives
import Synchronization
import Testing

@Suite struct WaitingTests {
    @Test func `a thread has its name and takes no signals`() async throws {
        let (threads, thread) = AsyncStream.makeStream(of: (name: String, mask: Bool).self)
        #expect(
            DedicatedThread.start("a-name-longer-than-the-kernel-keeps", stackBytes: 256 * 1024) {
                let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
                var blocked = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &blocked)
                thread.yield((name, sigismember(&blocked, SIGPIPE) == 1 && sigismember(&blocked, SIGTERM) == 1))
            })
        let started = try #require(await threads.first { _ in true })
        #expect(started.name == "a-name-longer-t\n")
        #expect(started.mask)
    }

    @Test func `work that ends in time gives its result`() async {
        #expect(await withTimeout(.seconds(600)) { 7 } == 7)
    }

    @Test func `work that no cancellation reaches is not waited for, and its task is cancelled`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let result: Int? = await withTimeout(.milliseconds(1)) {
            await withCheckedContinuation { continuation in
                Task.detached {
                    for await _ in ends { break }
                    continuation.resume()
                }
            }
            return 7
        }
        #expect(result == nil)
        end.yield(true)
    }

    @Test func `a timer ends each wait at its deadline, and sleeps while nothing waits`() async throws {
        let deadlines = Mutex<[ContinuousClock.Instant]>([])
        let timer = DeadlineTimer()
        let (expiries, expiry) = AsyncStream.makeStream(of: Void.self)
        @Sendable func expire() -> ContinuousClock.Instant? {
            let (ended, next) = deadlines.withLock { deadlines in
                let now = ContinuousClock.now
                let ended = deadlines.count { $0 <= now }
                deadlines.removeAll { $0 <= now }
                return (ended, deadlines.min())
            }
            for _ in 0..<ended { expiry.yield() }
            return next
        }
        // Again and again from nothing waiting, which is where a start could be lost.
        var iterator = expiries.makeAsyncIterator()
        for round in 1...200 {
            for offset in 0..<3 {
                deadlines.withLock { $0.append(.now + .microseconds(round % 7 * 50 + offset * 20)) }
                timer.start(expire)
            }
            for _ in 0..<3 { _ = await iterator.next() }
        }
        let left = deadlines.withLock(\.count)
        #expect(left == 0)
    }
}
