import Accounts
import Testing

/// The rules of refresh token rotation, one line each.
@Suite struct RefreshLineageTests {
    private static let home: Network = "192.0.2.0/24"
    private static let away: Network = "2001:db8:1:2::/64"
    private let start = Timestamp(seconds: 1_767_225_600)
    /// Generation 5 made by the use of 4, from home.
    private var lineage: RefreshLineage { lineage() }

    private func lineage(
        generation: Int32 = 5, parent: Int32 = 4, at seconds: Int64 = 0, network: Network? = home,
        sameNetwork: Int32 = 0, otherNetwork: Int32 = 0
    ) -> RefreshLineage {
        RefreshLineage(
            generation: generation, parent: parent, rotatedAt: start.advanced(bySeconds: seconds), network: network,
            replacements: .init(sameNetwork: sameNetwork, otherNetwork: otherNetwork))
    }

    /// What becomes of a token that is posted `seconds` after the start.
    private func decision(
        on lineage: RefreshLineage, posted generation: Int32, after seconds: Int64 = 0, from network: Network? = home
    ) -> RefreshDecision { lineage.presented(generation, from: network, at: start.advanced(bySeconds: seconds)) }

    @Test func `the newest token makes the next`() {
        #expect(
            decision(on: lineage, posted: 5, after: 100, from: Self.away)
                == .renewed(lineage(generation: 6, parent: 5, at: 100, network: Self.away)))
    }

    @Test func `the previous token gets the same successor for 60 seconds, wherever it comes from`() {
        for network in [Self.home, Self.away, nil] {
            for seconds: Int64 in [0, 1, 60] {
                #expect(decision(on: lineage, posted: 4, after: seconds, from: network) == .renewed(lineage))
            }
        }
        // Another process's clock may be behind.
        #expect(decision(on: lineage, posted: 4, after: -30) == .renewed(lineage))
    }

    @Test func `after 60 seconds the previous token replaces the unused successor`() {
        let replaced = lineage(generation: 6, at: 61, sameNetwork: 1)
        #expect(decision(on: lineage, posted: 4, after: 61) == .renewed(replaced))
        // The replacement is given again for 60 seconds too; the successor that was replaced is dead.
        #expect(decision(on: replaced, posted: 4, after: 121) == .renewed(replaced))
        #expect(decision(on: replaced, posted: 5, after: 61) == .reused)
    }

    @Test func `ten replacements in a row are asked for from the rotation's network, and no eleventh`() {
        for count: Int32 in 0..<10 {
            #expect(
                decision(on: lineage(sameNetwork: count), posted: 4, after: 61)
                    == .renewed(lineage(generation: 6, at: 61, sameNetwork: count + 1)))
        }
        #expect(decision(on: lineage(sameNetwork: 10), posted: 4, after: 61) == .reused)
        #expect(decision(on: lineage(sameNetwork: 11), posted: 4, after: 61) == .reused)
        // Within the minute it is no replacement.
        #expect(decision(on: lineage(sameNetwork: 10), posted: 4, after: 60) == .renewed(lineage(sameNetwork: 10)))
    }

    @Test func `two replacements in a row are asked for from other networks, and no third`() {
        let others = [Self.away, "198.51.100.0/24", "2001:db8:1:3::/64"]
        for network in others {
            for count: Int32 in 0..<2 {
                // The rotation's network stays the one that is compared with.
                #expect(
                    decision(on: lineage(otherNetwork: count), posted: 4, after: 61, from: network)
                        == .renewed(lineage(generation: 6, at: 61, otherNetwork: count + 1)))
            }
            #expect(decision(on: lineage(otherNetwork: 2), posted: 4, after: 61, from: network) == .reused)
        }
    }

    @Test func `the two counts are apart`() {
        #expect(
            decision(on: lineage(sameNetwork: 10), posted: 4, after: 61, from: Self.away)
                == .renewed(lineage(generation: 6, at: 61, sameNetwork: 10, otherNetwork: 1)))
        #expect(
            decision(on: lineage(otherNetwork: 2), posted: 4, after: 61)
                == .renewed(lineage(generation: 6, at: 61, sameNetwork: 1, otherNetwork: 2)))
    }

    @Test func `a use of the newest begins the counts again`() {
        let worn = lineage(generation: 17, sameNetwork: 10, otherNetwork: 2)
        #expect(
            decision(on: worn, posted: 17, after: 61, from: Self.away)
                == .renewed(lineage(generation: 18, parent: 17, at: 61, network: Self.away)))
        #expect(decision(on: worn, posted: 18, after: 61) == .renewed(lineage(generation: 19, parent: 18, at: 61)))
    }

    @Test func `a network that nobody noted counts as another one`() {
        let unknown = lineage(network: nil)
        for network in [Self.home, nil] {
            #expect(
                decision(on: unknown, posted: 4, after: 61, from: network)
                    == .renewed(lineage(generation: 6, at: 61, network: nil, otherNetwork: 1)))
            let worn = lineage(network: nil, otherNetwork: 2)
            #expect(decision(on: worn, posted: 4, after: 61, from: network) == .reused)
        }
        #expect(
            decision(on: lineage, posted: 4, after: 61, from: nil)
                == .renewed(lineage(generation: 6, at: 61, otherNetwork: 1)))
    }

    @Test func `an older token ends the session`() {
        for generation: Int32 in [0, 1, 3] { #expect(decision(on: lineage, posted: generation) == .reused) }
    }

    @Test func `one generation ahead is accepted, two are not`() {
        #expect(decision(on: lineage, posted: 6) == .renewed(lineage(generation: 7, parent: 6)))
        #expect(decision(on: lineage, posted: 7) == .unknown)
    }

    @Test func `of a restored session any generation ahead ends it, and the newest makes the next`() {
        for generation: Int32 in [6, 7, 100] {
            #expect(lineage.presented(generation, from: Self.home, isRestored: true, at: start) == .lost)
        }
        #expect(
            lineage.presented(5, from: Self.home, isRestored: true, at: start)
                == .renewed(lineage(generation: 6, parent: 5)))
    }

    @Test func `the last generation ends the session instead of overflowing`() {
        #expect(decision(on: lineage(generation: .max, parent: .max - 1), posted: .max) == .reused)
    }
}

@Suite struct SessionLifetimesTests {
    private let opened = Timestamp(seconds: 1_767_225_600)

    @Test func `without an absolute end every refresh gives a whole lifetime`() {
        let lifetimes = SessionLifetimes(unused: 100)
        for seconds: Int64 in [0, 50, 1_000_000] {
            let now = opened.advanced(bySeconds: seconds)
            #expect(lifetimes.end(ofSessionOpenedAt: opened, refreshedAt: now) == now.advanced(bySeconds: 100))
        }
    }

    @Test func `no refresh goes beyond the absolute end`() {
        let lifetimes = SessionLifetimes(unused: 100, absolute: 250)
        for (seconds, end) in [(Int64(0), Int64(100)), (149, 249), (150, 250), (151, 250), (249, 250), (300, 250)] {
            #expect(
                lifetimes.end(ofSessionOpenedAt: opened, refreshedAt: opened.advanced(bySeconds: seconds))
                    == opened.advanced(bySeconds: end))
        }
        // It may be the shorter one: then no refresh lengthens anything.
        #expect(
            SessionLifetimes(unused: 100, absolute: 60).end(ofSessionOpenedAt: opened, refreshedAt: opened)
                == opened.advanced(bySeconds: 60))
    }

    @Test func `the shortest lifetime is the one that ends first`() {
        #expect(SessionLifetimes(unused: 100).shortest == 100)
        #expect(SessionLifetimes(unused: 100, absolute: 250).shortest == 100)
        #expect(SessionLifetimes(unused: 100, absolute: 60).shortest == 60)
    }
}
