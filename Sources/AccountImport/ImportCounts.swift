package import Accounts
import JSON

/// How many rows there were, by outcome, by outcome and code, and by note; of the accounts that were created how many have an
/// address of each degree, and how many are disabled.
package struct ImportCounts: Sendable {
    package private(set) var rows = 0
    private var byWord: [String: Int] = [:]
    /// Whether a row is not in that should be.
    package private(set) var hasLeftOut = false
    private var hasAddress = false
    private var hasVerifiedAddress = false
    /// Whether a row brings an Apple identity.
    package private(set) var hasAppleIdentity = false

    package init() {}

    package mutating func add(_ result: ImportResult) {
        rows += 1
        byWord[result.outcome.word, default: 0] += 1
        if let code = result.outcome.code {
            byWord["\(result.outcome.word):\(code.rawValue)", default: 0] += 1
            if !code.isExpected { hasLeftOut = true }
        }
        if let person = result.person { add(person, of: result.outcome) }
        for kind in result.notes.compactMap(\.kind) { byWord["note:\(kind)", default: 0] += 1 }
    }

    private mutating func add(_ person: ImportedPerson, of outcome: ImportOutcome) {
        let degree = person.email == nil ? nil : person.emailProof
        hasAddress = hasAddress || degree != nil
        hasVerifiedAddress = hasVerifiedAddress || degree != nil && degree != .claimed
        hasAppleIdentity = hasAppleIdentity || person.identities.contains { $0.key.provider == .apple }
        guard case .created = outcome else { return }
        if let degree { byWord["\(outcome.word):\(degree.rawValue)", default: 0] += 1 }
        if person.isDisabled { byWord["\(outcome.word):disabled", default: 0] += 1 }
    }

    /// Whether there are addresses, of which the source calls none verified.
    package var lacksVerifiedAddress: Bool { hasAddress && !hasVerifiedAddress }

    /// Whether any row has this note; of a skipped identity by whatever word.
    package func has(_ note: ImportNote) -> Bool { note.kind.flatMap { byWord["note:\($0)"] } != nil }

    /// A line each, `created 12`, those with a code indented below their outcome.
    package var lines: [String] {
        ["created", "unchanged", "conflict", "refused", "note"].flatMap { word in
            let codes = byWord.filter { $0.key.hasPrefix(word + ":") }.sorted { $0.key < $1.key }
            guard let count = byWord[word] ?? (codes.isEmpty ? nil : codes.reduce(0) { $0 + $1.value }) else {
                return [String]()
            }
            return ["\(word) \(count)"] + codes.map { "  \($0.key.dropFirst(word.count + 1)) \($0.value)" }
        }
    }

    /// `created 12, conflict 1`.
    package var summary: String {
        ["created", "unchanged", "conflict", "refused"].compactMap { word in
            byWord[word].map { "\(word) \($0)" }
        }.joined(separator: ", ")
    }

    /// As they are kept.
    package var all: [(outcome: String, count: Int)] { byWord.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
}

extension ImportNote {
    /// Without the source's own word, of which there may be any number; `nil` for what the code of the row says.
    fileprivate var kind: String? {
        switch self {
        case .rowMalformed: nil
        case .identitySkipped: "identity_skipped"
        case .passwordDropped, .passwordMissing, .identityMissing, .emailDropped, .nameCut, .subjectUnusual,
            .holderClaimed, .rowClaimed, .holderImported, .holderDiffers, .externalIDShared, .differs:
            text
        }
    }
}

extension ImportResult {
    /// The line of the report.
    ///
    /// - Parameter showsAccount: no account of a rehearsal is there afterwards.
    package func line(row: Int, showsAccount: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("row", row)
            writer.member("externalId", externalID?.text)
            writer.member("outcome", outcome.word)
            writer.member("code", outcome.code?.rawValue)
            let notes = notes.compactMap(\.reported)
            if !notes.isEmpty { writer.member("notes", notes) }
            if showsAccount { writer.member("accountId", outcome.accountID?.description) }
        } + [UInt8(ascii: "\n")]
    }
}
