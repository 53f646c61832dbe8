import Accounts
import Foundation
import Storage
import Testing

/// The page of states: it has each state that a row can be in, and no reason that no session ends for.
@Suite struct StatesPageTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    static func page() throws -> String {
        try String(contentsOf: root.appending(path: "docs/states.md"), encoding: .utf8)
    }

    static func section(_ heading: String) throws -> Substring {
        try #require(try page().split(separator: #/\n##+ /#).first { $0.hasPrefix("\(heading)\n") })
    }

    /// The first column of the table under a heading, where it is code.
    static func rows(under heading: String) throws -> [String] {
        try section(heading).matches(of: /(?m)^\| `(\w+)` \|/).map { String($0.1) }
    }

    @Test func `each reason for which sessions end has a row`() throws {
        #expect(try Self.rows(under: "Session").sorted() == SessionEndReason.allCases.map(\.rawValue).sorted())
    }

    @Test func `each status of an account has a row`() throws {
        #expect(try Self.rows(under: "Account").sorted() == Account.Status.allCases.map(\.rawValue).sorted())
    }

    @Test func `each degree of an address has a row`() throws {
        #expect(try Self.rows(under: "Address") == EmailProof.allCases.map(\.rawValue))
    }

    @Test func `each state of an authorization has a row`() throws {
        #expect(try Self.rows(under: "Identity").sorted() == Identity.Authorization.allCases.map(\.rawValue).sorted())
    }

    @Test func `each policy for stray accounts and each failure of linking is described`() throws {
        let page = try Self.page()
        let words =
            StrayAccountPolicy.allCases.map(\.rawValue) + [
                "email_taken", "identity_already_linked", "provider_already_linked", "last_sign_in_method",
                "account_disabled", "invalid_session", "invalid_credentials", "reauthentication_required",
            ]
        for word in words { #expect(page.contains("`\(word)`"), "\(word)") }
    }
}
