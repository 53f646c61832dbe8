import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// The store of mailed codes beside a model in memory that has nothing but the rules: a long random row of requests, tries
/// and uses. Both answer each alike, and hold the same after every fourth, or after each in the soak. So what the rules
/// alone bound in a year, the store bounds.
@Suite struct EmailCodeModelTests {
    private struct Slot: Hashable {
        let purpose: EmailCodePurpose
        let ticket: UInt8?
    }

    private struct Share {
        var tries: Int32 = 0
        var mails: Int32 = 0
        var mailedAt: Timestamp?
        var hasAsked = false

        var value: EmailCodeShare { EmailCodeShare(tries: tries, mails: mails, mailedAt: mailedAt) }
    }

    private struct Entry {
        let code: EmailCode
        var tries: Int32 = 0
        var mails: Int32
        var mailedAt: Timestamp
        var shares: [Network: Share]

        var live: LiveEmailCode { LiveEmailCode(code: code, tries: tries, mails: mails, mailedAt: mailedAt) }
    }

    private struct Model {
        var entries: [Slot: Entry] = [:]
        var guesses = EmailCodeGuesses.none

        mutating func expire(at now: Timestamp) { entries = entries.filter { $0.value.code.expiresAt > now } }

        mutating func request(
            _ request: EmailCodeRequest, _ slot: Slot, _ allowance: EmailCodeAllowance?, at now: Timestamp
        ) -> EmailCodeRequestDecision {
            let network = request.network ?? ""
            let entry = entries[slot]
            let decision = EmailCodeRules.request(
                of: entry?.live, share: entry?.shares[network]?.value ?? .none,
                isAskedForElsewhere: entry?.shares.contains { $0.key != network && $0.value.hasAsked } ?? false,
                guesses: guesses, allowance: allowance, at: now)
            switch decision {
            case .needsAllowance: break
            case .nothing: entries[slot]?.shares[network, default: Share()].hasAsked = true
            case .issue(let onlyIfKnown):
                let length = guesses.length(isServiceGuessedAt: request.isServiceGuessedAt, at: now)
                entries[slot] = Entry(
                    code: request.code.with(length), mails: onlyIfKnown ? 0 : 1, mailedAt: now,
                    shares: [network: Share(mails: 1, mailedAt: now, hasAsked: true)])
            case .mail(let onlyIfKnown):
                if !onlyIfKnown {
                    entries[slot]?.mails += 1
                    entries[slot]?.mailedAt = now
                }
                entries[slot]?.shares[network, default: Share()].mails += 1
                entries[slot]?.shares[network]?.mailedAt = now
                entries[slot]?.shares[network]?.hasAsked = true
            }
            return decision
        }

        /// Nobody has the address, so no network is known.
        mutating func attempt(_ slot: Slot, from network: Network?, isRight: Bool, at now: Timestamp) -> EmailCode? {
            guard let entry = entries[slot] else { return nil }
            let share = entry.shares[network ?? ""]?.value ?? .none
            switch EmailCodeRules.attempt(at: entry.live, share: share, guesses: guesses, at: now) {
            case .refused: return nil
            case .onlyIfKnown:
                if let network { entries[slot]?.shares[network, default: Share()].tries += 1 }
                return nil
            case .open:
                if isRight { return entry.code }
                entries[slot]?.tries += 1
                entries[slot]?.shares[network ?? "", default: Share()].tries += 1
                guesses.countWrong(at: entry.code.length, at: now)
                return nil
            }
        }

        /// The rows, as texts.
        var rows: [String] {
            var rows: [String] = []
            for (slot, entry) in entries {
                let name = "\(slot.purpose.rawValue) \(slot.ticket.map { "\($0)" } ?? "-")"
                let code = "\(entry.code.id) \(entry.code.length.rawValue) \(entry.code.expiresAt.microseconds)"
                rows.append("code \(name) \(code) \(entry.tries) \(entry.mails) \(entry.mailedAt.microseconds)")
                for (network, share) in entry.shares {
                    let mailedAt = share.mailedAt.map { "\($0.microseconds)" } ?? "-"
                    rows.append(
                        "network \(name) \(network) \(share.hasAsked) \(share.tries) \(share.mails) \(mailedAt)")
                }
            }
            if guesses != .none {
                rows.append("latest \(guesses.latestWrong.map { "\($0.microseconds)" }.joined(separator: ","))")
                rows.append("wrong \(guesses.wrongSinceSuccess) \(guesses.isUnderAttack)")
                rows.append("full \(guesses.shortFullAt.microseconds) \(guesses.longFullAt.microseconds)")
                rows.append("forget \(guesses.forgetAt.microseconds)")
            }
            return rows.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
    }

    /// The same of the tables.
    private func rows(_ world: EmailCodeWorld, at now: Timestamp) async throws -> [String?] {
        let query = try DataFile("EmailCodeRows.sql").text.replacing(":now", with: now.rfc3339)
        return try await world.database.texts(SQL(unsafeSQL: query))
    }

    @Test(arguments: 1...(SoakCases.areAll ? 4 : 2) as ClosedRange<UInt64>)
    func `the store keeps what the rules keep, step by step`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let slots =
            [.signIn, .resetPassword].map { Slot(purpose: $0, ticket: nil) }
            + [1, 2].map { Slot(purpose: .bind, ticket: $0) }
        let networks: [Network?] = (0..<8).map { "10.0.\($0).0/24" } + [nil]
        try await EmailCodeWorld.run { world in
            var model = Model()
            var seconds: Int64 = 0
            var (issued, used, lengths) = (0, 0, Set<EmailCode.Length>())
            for step in 0..<400 {
                // Mostly soon; now and then after the code, the day or a good part of the year.
                seconds +=
                    [0, 1, 20, 61, 61, 700, 90_000, 2_000_000][Int.random(in: 0...63, using: &random) / 8]
                    * (Int.random(in: 0...3, using: &random) == 0 ? 1 : 0)
                let now = EmailCodeWorld.time(seconds)
                model.expire(at: now)
                let slot = slots[Int.random(in: slots.indices, using: &random)]
                let network = networks[Int.random(in: networks.indices, using: &random)]
                switch Int.random(in: 0...9, using: &random) {
                case 0...2:
                    let drawn =
                        [EmailCodeAllowance.full, .full, .onlyIfKnown, nil].randomElement(using: &random) ?? nil
                    let allowance = step.isMultiple(of: 2) ? drawn : drawn ?? EmailCodeAllowance.usedUp
                    let request = try world.request(
                        slot.purpose, ticket: slot.ticket, network: network,
                        isServiceGuessedAt: Int.random(in: 0...9, using: &random) == 0, at: seconds)
                    let expected = model.request(request, slot, allowance, at: now)
                    #expect(try await world.store.request(request, allowance: allowance, by: .at(now)) == expected)
                    if case .issue = expected { issued += 1 }
                case 3:
                    let expected = model.attempt(slot, from: network, isRight: true, at: now)
                    let code = try await world.attempt(
                        slot.purpose, ticket: slot.ticket, network: network, isRight: true, at: seconds)
                    #expect(code == expected)
                    guard let code, Bool.random(using: &random) else { break }
                    #expect(try await world.consume(code, at: seconds))
                    model.entries[slot] = nil
                    model.guesses.reset()
                    used += 1
                default:
                    let expected = model.attempt(slot, from: network, isRight: false, at: now)
                    let code = try await world.attempt(slot.purpose, ticket: slot.ticket, network: network, at: seconds)
                    #expect(code == expected)
                }
                lengths.formUnion(model.entries.values.map(\.code.length))
                guard SoakCases.areAll || step % 4 == 3 else { continue }
                let rows = try await rows(world, at: now)
                try #require(rows == model.rows, "step \(step)")
            }
            // The row has been everywhere.
            #expect(issued > 20)
            #expect(used > 2)
            #expect(lengths == [.six, .ten])
        }
    }
}
