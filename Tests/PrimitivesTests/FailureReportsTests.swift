import Primitives
import Testing

@Suite struct FailureReportsTests {
    @Test func `what goes on failing is reported once a minute, and at once after a success`() {
        let start = ContinuousClock.now
        var reports = FailureReports()
        let reported = [0, 1, 59, 60, 61].map { reports.failed(at: start + .seconds($0)) }
        #expect(reported == [true, false, false, true, false])
        reports.succeeded()
        let next = [62, 63].map { reports.failed(at: start + .seconds($0)) }
        #expect(next == [true, false])
    }
}
