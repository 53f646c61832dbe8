import AccountImport
import Testing

/// When an import gives way: by the rows that people's sign-ins, refreshes and acts write.
@Suite struct ImportPaceTests {
    private static let begin = ContinuousClock.now

    /// A pace after looks between each two of which people have written so many rows.
    private static func pace(_ rows: [Int64], every interval: Duration = .seconds(1)) -> ImportPace {
        var pace = ImportPace()
        var (total, now) = (Int64(1_000), begin)
        pace.see(total, at: now)
        for rows in rows {
            total += rows
            now += interval
            pace.see(total, at: now)
        }
        return pace
    }

    @Test func `until it has looked twice it gives way`() {
        let pace = Self.pace([])
        #expect(pace.isGivingWay && pace.batch == 50)
        #expect(pace.rest(after: .milliseconds(10)) == .milliseconds(30))
    }

    @Test func `while people write nothing it goes as fast as it can`() {
        let pace = Self.pace([0])
        #expect(!pace.isGivingWay && pace.batch == 500)
        #expect(pace.rest(after: .milliseconds(10)) == .zero)
        // A month of the trail is dropped, and its counts with it: that says nothing.
        #expect(Self.pace([0, -500]).isGivingWay)
    }

    @Test func `it gives way to more than twenty rows a second, and goes on when they end`() {
        #expect(!Self.pace([20]).isGivingWay)
        #expect(Self.pace([21]).isGivingWay)
        #expect(Self.pace([200, 200]).isGivingWay)
        #expect(!Self.pace([200, 3]).isGivingWay)
        #expect(!Self.pace([80], every: .seconds(4)).isGivingWay)
        #expect(Self.pace([81], every: .seconds(4)).isGivingWay)
    }
}
