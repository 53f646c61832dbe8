import Accounts
import Foundation
import Testing

/// The rules on addresses: for each combination that an operation can meet there is one, and docs/linking.md prints them.
@Suite struct AddressRuleTests {
    /// What an operation can come with.
    private static func evidence(of operation: AddressOperation) -> Set<AddressEvidence> {
        switch operation {
        // Who replaces or merges by a mailed code comes to the rows of that first.
        case .signIn, .signInKnown, .bindBySession, .bindByPassword, .linkInSession, .replaceIdentity, .merge:
            [.none, .relay, .stated, .authoritative]
        case .mailedSignIn, .bindByCode, .registerByCode, .reset, .verifyEmail, .changeEmail: [.mailedCode]
        case .bindToShown: [.authoritative, .mailedCode]
        case .create: Set(AddressEvidence.allCases)
        case .register, .replaceEmail, .providerEvent: [.none]
        }
    }

    /// What an operation can find.
    private static func holders(of operation: AddressOperation, _ evidence: AddressEvidence) -> Set<AddressHolder> {
        switch operation {
        // Without an account of the address there is nothing that the code opens.
        case .mailedSignIn, .bindByCode, .reset: [.claimed, .stated, .proven]
        // Of a proven address there is nothing left to verify.
        case .verifyEmail: [.claimed, .stated]
        // Only a stated holder is shown; it may have been proven since, by a code.
        case .bindToShown: evidence == .mailedCode ? [.stated, .proven] : [.stated]
        default: Set(AddressHolder.allCases)
        }
    }

    @Test(arguments: AddressOperation.allCases)
    func `exactly one rule applies to whatever an operation meets`(_ operation: AddressOperation) {
        for evidence in AddressEvidence.allCases {
            for holder in AddressHolder.allCases {
                let isMet =
                    Self.evidence(of: operation).contains(evidence)
                    && Self.holders(of: operation, evidence).contains(holder)
                for policy in VerifiedEmailPolicy.allCases {
                    let rules = AddressRule.all.filter {
                        $0.operation == operation && $0.evidence.contains(evidence) && $0.holder.contains(holder)
                            && $0.policy.contains(policy)
                    }
                    #expect(rules.count == (isMet ? 1 : 0), "\(evidence) \(holder) \(policy)")
                    let outcome = AddressRule.outcome(of: operation, evidence, holder: holder, policy: policy)
                    #expect(outcome == rules.first?.outcome)
                }
            }
        }
    }

    @Test func `only who reads the mailbox takes an address, and from nobody who has proven it`() {
        for rule in AddressRule.all where [.createTaking, .proveTaking].contains(rule.outcome) {
            #expect(rule.evidence.allSatisfy { $0.provesMailbox })
            #expect(rule.holder.isSubset(of: [.claimed, .stated]))
        }
    }

    @Test func `a degree is raised only where there is a claim of the address`() {
        for rule in AddressRule.all where rule.outcome == .enterRaising {
            #expect(rule.evidence.allSatisfy { $0.proof != nil }, "\(rule.operation)")
        }
    }

    @Test func `a stated account is entered by its mailbox only by who has seen it`() {
        for rule in AddressRule.all where rule.holder.contains(.stated) && rule.evidence.contains(.mailedCode) {
            switch rule.operation {
            case .mailedSignIn, .bindByCode, .bindToShown, .reset:
                #expect(
                    [.takeOverOnceShown, .refuseCode, .choose([.bind, .create], showing: .identities)]
                        .contains(rule.outcome))
            default: #expect(rule.outcome != .enterClearing)
            }
        }
    }

    @Test func `an address is enough alone only where both have proven it, under automatic`() {
        let unasked = AddressRule.all.filter { $0.outcome == .bindUnasked }
        #expect(unasked.count == 1)
        for rule in unasked {
            #expect(rule.evidence == [.authoritative] && rule.holder == [.proven] && rule.policy == [.automatic])
        }
    }

    @Test func `docs/linking.md prints the rules`() throws {
        let root = URL(filePath: #filePath.components(separatedBy: "/Tests/")[0])
        let file = root.appending(path: "docs/linking.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n## Who has an address\n").dropFirst().first)
        let printed = section.components(separatedBy: "\n## ")[0].components(separatedBy: "\n").filter {
            $0.hasPrefix("| ") && !$0.hasPrefix("| operation")
        }
        let expected = AddressRule.all.map(\.row)
        #expect(printed == expected, "docs/linking.md should have:\n\(expected.joined(separator: "\n"))")
    }
}

extension AddressRule {
    /// The rule as a row of docs/linking.md.
    fileprivate var row: String {
        "| \(operation.rawValue)\(policy.count == 1 ? ", `\(policy.first?.rawValue ?? "")`" : "") "
            + "| \(list(evidence, AddressEvidence.allCases)) | \(list(holder, AddressHolder.allCases)) "
            + "| \(outcome.words) | \(why) |"
    }

    private func list<Value: RawRepresentable<String> & Hashable>(_ values: Set<Value>, _ all: [Value]) -> String {
        values.count == all.count ? "any" : all.filter(values.contains).map(\.rawValue).joined(separator: ", ")
    }
}

extension AddressOutcome {
    fileprivate var words: String {
        switch self {
        case .choose(let choices, let view):
            "`\(choices.map(\.rawValue).joined(separator: "`, `"))`"
                + (view == .nothing ? "" : "; `holder` has \(view == .providers ? "its providers" : "its identities")")
        case .bindUnasked: "bound without a question"
        case .create(withAddress: true): "an account with the address"
        case .create(withAddress: false): "an account without an address"
        case .createTaking: "an account with the address, which the holder loses"
        case .refuseEmailTaken: "409 `email_taken`"
        case .enter: "entered"
        case .enterRaising: "entered; the claim may raise the degree"
        case .takeOverOnceShown: "taken over, if it has been shown; else shown"
        case .enterClearing: "entered, and cleared of what was there"
        case .refuseCode: "no code is mailed"
        case .prove: "proven"
        case .proveTaking: "proven, and the holder loses it"
        case .unchanged: "the degree stays"
        }
    }
}
