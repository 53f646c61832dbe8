import Accounts
import Testing

/// The rules of rotated refresh tokens of OAuth clients, one line each.
@Suite struct OAuthTokenDecisionTests {
    private let start = Timestamp(seconds: 1_767_225_600)

    private func decision(
        isSuperseded: Bool = false, successor seconds: Int64? = nil, after now: Int64 = 0
    ) -> OAuthTokenDecision {
        OAuthTokenLineage(
            isSuperseded: isSuperseded, successorIssuedAt: seconds.map { start.advanced(bySeconds: $0) }
        ).presented(at: start.advanced(bySeconds: now))
    }

    @Test(arguments: [0, 60, 86_400 * 365] as [Int64])
    func `a token without a successor gets one, however old it is`(now: Int64) {
        #expect(decision(after: now) == .rotated)
    }

    @Test func `a token gets its unused successor again for 60 seconds, then another`() {
        // Another process's clock may be behind.
        for now: Int64 in [-5, 0, 1, 60] { #expect(decision(successor: 0, after: now) == .repeated(issuedAt: start)) }
        #expect(decision(successor: 0, after: 61) == .rotated)
        #expect(decision(successor: 30, after: 90) == .repeated(issuedAt: start.advanced(bySeconds: 30)))
    }

    @Test func `a superseded token shows that two parties have the chain, at once and whatever came after`() {
        for successor: Int64? in [nil, 0, 100] {
            #expect(decision(isSuperseded: true, successor: successor) == .reused)
        }
    }
}
