import Accounts
import Administration
import Testing

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

    /// The admin API reads a reason and fields from the body of a POST, which an act without a required reason lacks.
    @Test func `what takes fields requires a reason`() {
        for act in Act.all where !act.fields.isEmpty { #expect(act.reason == .required, "\(act.name)") }
    }

    @Test(arguments: ["", "two\nlines", String(repeating: "a", count: 1_025)])
    func `a reason is one line of 1 to 1,024 bytes`(text: String) {
        #expect(!ActInput.isReason(text))
        #expect(ActInput.isReason(String(repeating: "a", count: 1_024)))
    }
}
