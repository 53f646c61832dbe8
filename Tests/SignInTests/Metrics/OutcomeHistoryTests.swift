import Accounts
import JOSE
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

    @Test(arguments: [(0, 1), (1, 1), (5, 5), (60, 60), (61, 60), (100_000, 60)])
    func `the minutes that have passed are those since the start, of the last hour`(minutes: Int, elapsed: Int) {
        let minute = Minute()
        let history = OutcomeHistory { minute.now }
        minute.advance(by: minutes)
        #expect(history.elapsed == elapsed)
    }

    @Test func `only a refusal that is recorded has a kind of row`() {
        for rejection in TokenRejection.allCases where rejection != .keysUnavailable {
            let reason = rejection.rawValue
            #expect(OutcomeHistory.auditKind(ofReason: reason) == .credentialRejected, "\(reason)")
        }
        for kind in LimitKind.allCases {
            #expect(OutcomeHistory.auditKind(ofReason: kind.rawValue) == .rateLimited, "\(kind.rawValue)")
        }
        #expect(OutcomeHistory.auditKind(ofReason: "invalid_credentials") == .guessRejected)
        #expect(OutcomeHistory.auditKind(ofReason: "account_disabled") == .credentialRejected)
        let unrecorded = [
            "keys_unavailable", "provider_unavailable", "database_unavailable", "overloaded", "internal_error",
            "invalid_request",
        ]
        for reason in unrecorded { #expect(OutcomeHistory.auditKind(ofReason: reason) == nil, "\(reason)") }
    }
}
