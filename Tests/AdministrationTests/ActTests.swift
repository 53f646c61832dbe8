import Accounts
import Testing

@testable import Administration

/// The table of acts.
@Suite struct ActTests {
    @Test func `no two acts have one path, and each says what it does in whole sentences`() {
        #expect(Set(Act.all.map { "\($0.subject.rawValue)/\($0.name)" }).count == Act.all.count)
        for act in Act.all {
            for sentence in [act.consequence, act.result, act.nothing] {
                #expect(sentence.hasSuffix(".") && sentence.first?.isUppercase == true, "\(act.name)")
            }
        }
    }

    /// The admin API reads fields from a body, which may be absent where no reason is required; but a client from the path.
    @Test func `what takes fields requires a reason, or is a PATCH`() {
        for act in Act.all where !act.fields.allSatisfy({ $0 == .client }) {
            if case .patch? = act.operation { continue }
            guard act.operation != nil else { continue }
            #expect(act.reason == .required, "\(act.name)")
        }
    }

    @Test(arguments: [
        ("", ""), ("a", "a"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("a\nb", "\"a\nb\""), ("=1+1", "'=1+1"),
        ("+1", "'+1"), ("-1", "'-1"), ("@a", "'@a"), ("\ta", "'\ta"), ("\ra", "\"'\ra\""), ("a=1", "a=1"),
        ("=a,b", "\"'=a,b\""), ("a\"\u{200C},=b", "\"a\"\"\u{200C},=b\""),
        ("a\"\u{301}\r\n=b", "\"a\"\"\u{301}\r\n=b\""), ("\"\u{FE0F}", "\"\"\"\u{FE0F}\""),
        (",\u{301}", "\",\u{301}\""),
    ])
    func `a cell of a table is quoted where it has to be, and no formula`(text: String, cell: String) {
        #expect(Array(TrailSheet.cell(text).utf8) == Array(cell.utf8))
    }

    @Test func `an act that requires a reason is refused where its front has asked for none`() throws {
        #expect(throws: AdministrationFailure.fault(operation: "act without its reason")) {
            try ActInput().statedReason
        }
        #expect(try ActInput(reason: "a").statedReason == "a")
    }

    @Test(arguments: ["", " ", "    ", "two\nlines", String(repeating: "a", count: 1_025)])
    func `a reason is one line of 1 to 1,024 bytes, and not of spaces alone`(text: String) {
        #expect(!ActInput.isReason(text))
        #expect(ActInput.isReason(String(repeating: "a", count: 1_024)))
        #expect(ActInput.isReason(" a "))
    }
}
