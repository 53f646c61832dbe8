import Accounts
import KeyRing
import Testing

@testable import OAuthServer

/// The refresh token that takes another's place.
@Suite struct RefreshSuccessorTests {
    private static let time = Timestamp(seconds: 1_767_225_600)
    private static let lines = [
        "k1 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", "k2 AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",
    ]

    private static func successors(_ lines: [String], of token: String = "rt_a", at time: Timestamp = time) throws
        -> [String]
    {
        try RefreshSuccessors(keyRing: try KeyRing(parsing: lines.joined(separator: "\n")))
            .successors(of: token, at: time).map(\.text)
    }

    @Test func `it is the same for the same token and time, and another for any other`() throws {
        let lines = [Self.lines[0]]
        let successor = try Self.successors(lines)
        #expect(try Self.successors(lines) == successor)
        let others = try [
            Self.successors(lines, of: "rt_b"), Self.successors(lines, of: "rt_"), Self.successors([Self.lines[1]]),
            Self.successors(lines, at: Timestamp(microseconds: Self.time.microseconds + 1)),
        ]
        #expect(Set(others + [successor]).count == others.count + 1)
        // 256 bits, as a token that is made by chance.
        #expect(successor.allSatisfy { $0.wholeMatch(of: /rt_[A-Za-z0-9_-]{43}/) != nil })
    }

    @Test func `a key ring that rotates knows those of the line that wrote before`() throws {
        let before = try Self.successors([Self.lines[0]])
        let after = try Self.successors(Self.lines.reversed())
        #expect(after == (try Self.successors([Self.lines[1]])) + before)
    }
}
