import Synchronization
import Testing

@testable import SignIn

struct OutcomeHistoryTests {
    private final class Minute: Sendable {
        private let number = Atomic<Int>(1_000)
        var now: Int { number.load(ordering: .relaxed) }
        func advance(by minutes: Int) { number.add(minutes, ordering: .relaxed) }
    }

    @Test func `an hour is kept by the minute, the current one last`() {
        let minute = Minute()
        let history = OutcomeHistory { minute.now }
        history.count(OutcomeLabel(.signedIn))
        history.count(OutcomeLabel(.linkRequired))
        history.count(OutcomeLabel(.refused, "expired"))
        minute.advance(by: 2)
        history.count(OutcomeLabel(.refused, "expired"))
        history.count(OutcomeLabel(.refused, "expired"))
        history.count(OutcomeLabel(.unavailable, "overloaded"))
        let minutes = history.minutes
        #expect(minutes.count == 60)
        #expect(minutes[59].accepted == 0 && minutes[59].refused == ["expired": 2, "overloaded": 1])
        #expect(minutes[58] == OutcomeHistory.Minute())
        #expect(minutes[57].accepted == 2 && minutes[57].refused == ["expired": 1])
        #expect(minutes.map(\.accepted).reduce(0, +) == 2)
    }

    @Test(arguments: [59, 60, 61, 119, 120, 100_000])
    func `what is older than an hour is gone, however long nothing came`(minutes: Int) {
        let minute = Minute()
        let history = OutcomeHistory { minute.now }
        for _ in 0..<60 {
            history.count(OutcomeLabel(.signedIn))
            minute.advance(by: 1)
        }
        minute.advance(by: minutes - 1)
        #expect(history.minutes.map(\.accepted).reduce(0, +) == max(0, 60 - minutes))
    }
}
