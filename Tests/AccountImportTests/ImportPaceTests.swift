import AccountImport
import Testing

/// When an import gives way: by what others commit, and never for what it commits itself.
@Suite struct ImportPaceTests {
    private static let begin = ContinuousClock.now

    /// A pace after some seconds in each of which the run writes so many batches and others commit so many transactions.
    private static func pace(_ seconds: [(batches: Int, others: Int64)]) -> ImportPace {
        var pace = ImportPace(ownTransactions: 2)
        var (total, now) = (Int64(1_000), begin)
        pace.see(total, at: now)
        for second in seconds {
            for _ in 0..<second.batches { pace.note() }
            total += Int64(second.batches) * 2 + second.others + 1
            now += .seconds(1)
            pace.see(total, at: now)
        }
        return pace
    }

    @Test func `until it has looked twice it gives way`() {
        let pace = Self.pace([])
        #expect(pace.isGivingWay && pace.batch == 50)
        #expect(pace.rest(after: .milliseconds(10)) == .milliseconds(30))
    }

    @Test(arguments: [0, 20, 1_000]) func `what it commits itself is no reason`(_ batches: Int) {
        let pace = Self.pace([(batches, 0)])
        #expect(!pace.isGivingWay && pace.batch == 500)
        #expect(pace.rest(after: .milliseconds(10)) == .zero)
    }

    @Test func `it gives way to more than twenty transactions a second of others, and goes on when they end`() {
        #expect(!Self.pace([(12, 20)]).isGivingWay)
        #expect(Self.pace([(12, 21)]).isGivingWay)
        #expect(Self.pace([(12, 200), (30, 200)]).isGivingWay)
        #expect(!Self.pace([(12, 200), (30, 3)]).isGivingWay)
    }
}
