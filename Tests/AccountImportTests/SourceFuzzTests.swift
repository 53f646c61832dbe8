import AccountImport
import Accounts
import TestSupport
import Testing

/// Files of each exporter with bytes changed: every row has an outcome, or the file is no source any more.
@Suite struct SourceFuzzTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static var rules: RowRules {
        var rules = RowRules()
        (rules.appleTeams, rules.appleTeam, rules.allowsOwnForms) = ([.main], .main, true)
        return rules
    }

    /// The outcomes of the rows of a file, in an empty database; `nil` when the file can't be read to its end.
    private static func outcomes(_ bytes: [UInt8], _ format: SourceFormat) async throws -> [ImportOutcome]? {
        var ground = ImportGround(rows: [:], identities: [:], addresses: [:], sharedIDs: [])
        var outcomes: [ImportOutcome] = []
        do {
            var source = try format.source(PieceInput(bytes, size: 61))
            while let row = try await source.next() {
                let checked = try rules.check(row, at: now)
                let result = ground.decide(checked, id: AccountID(now: now))
                // What is created has a person to be written, and what is refused has none.
                if case .created = result.outcome { #expect(result.person != nil) }
                if case .refused = result.outcome { #expect(result.person == nil) }
                outcomes.append(result.outcome)
            }
            return outcomes
        } catch is SourceFault {
            return nil
        }
    }

    @Test(arguments: SourceFormat.allCases) func `every row of a fuzzed file has an outcome`(_ format: SourceFormat)
        async throws
    {
        let bytes = Array(try format.example.utf8)
        let whole = try #require(try await Self.outcomes(bytes, format))
        #expect(whole.contains { $0.word == "created" })
        var random = SplitMix64(seed: 14)
        var words: Set<String> = []
        for _ in 0..<2_000 {
            var fuzzed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let position = Int.random(in: 0..<fuzzed.count, using: &random)
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    fuzzed.removeSubrange(
                        position..<min(fuzzed.count, position + Int.random(in: 1...40, using: &random)))
                case 1: fuzzed.insert(UInt8.random(in: 0...255, using: &random), at: position)
                default: fuzzed[position] = UInt8.random(in: 0...255, using: &random)
                }
                if fuzzed.isEmpty { fuzzed = [0x20] }
            }
            let outcomes = try await Self.outcomes(fuzzed, format)
            words.formUnion(outcomes?.map(\.word) ?? ["unreadable"])
            guard format.isOfLines else { continue }
            let lines = fuzzed.split(separator: 0x0A).filter { line in
                !line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            }
            let isArray = lines.first?.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D } == UInt8(ascii: "[")
            #expect(outcomes?.count == (isArray ? nil : lines.count))
        }
        #expect(words.isSuperset(of: ["created", "refused"]), "\(words)")
    }
}
