import Curl

/// A finding of a check: one line for the operator.
struct Finding: Sendable, Equatable {
    /// What is worse comes later.
    enum Status: String, CaseIterable, Comparable, Sendable {
        /// Something to know or to do that can't be checked from here.
        case note
        case ok
        case warning
        case failure

        static func < (one: Status, other: Status) -> Bool { one.rank < other.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    let check: CheckName
    let status: Status
    let detail: String
    /// What to do.
    let advice: String?

    static func note(_ check: CheckName, _ detail: String) -> Finding {
        Finding(check: check, status: .note, detail: detail, advice: nil)
    }

    static func ok(_ check: CheckName, _ detail: String) -> Finding {
        Finding(check: check, status: .ok, detail: detail, advice: nil)
    }

    static func warning(_ check: CheckName, _ detail: String, advice: String) -> Finding {
        Finding(check: check, status: .warning, detail: detail, advice: advice)
    }

    static func failure(_ check: CheckName, _ detail: String, advice: String) -> Finding {
        Finding(check: check, status: .failure, detail: detail, advice: advice)
    }

    /// `status name: detail; advice`, on one line whatever is in it.
    var line: String { line(padded: 0) }

    /// The line, whose name begins in the same column as that of others of this width.
    func line(padded width: Int) -> String {
        // A detail may be a whole sentence.
        let found = advice != nil && detail.hasSuffix(".") ? String(detail.dropLast()) : detail
        let padding = String(repeating: " ", count: max(0, width - status.rawValue.utf8.count))
        let text = "\(status.rawValue)\(padding) \(check.rawValue): \(found)" + (advice.map { "; \($0)" } ?? "")
        return String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
    }
}

/// What a check comes to that finds one thing.
extension [Finding] {
    static func note(_ check: CheckName, _ detail: String) -> [Finding] { [.note(check, detail)] }

    static func ok(_ check: CheckName, _ detail: String) -> [Finding] { [.ok(check, detail)] }

    static func warning(_ check: CheckName, _ detail: String, advice: String) -> [Finding] {
        [.warning(check, detail, advice: advice)]
    }

    static func failure(_ check: CheckName, _ detail: String, advice: String) -> [Finding] {
        [.failure(check, detail, advice: advice)]
    }

    /// What the service serves at its public URL, and does not answer here.
    static func unreached(_ check: CheckName, _ url: String, _ error: FetchError) -> [Finding] {
        .warning(
            check, "\(url) can't be reached from here (\(error.code.rawValue))",
            advice: "nothing to do if the service isn't running yet, or is reached from outside alone")
    }
}

/// The checks, in the order of the output. `docs/operations/doctor.md` has a row for each.
enum CheckName: String, CaseIterable, Sendable {
    case configuration
    case files
    case listeners
    case descriptors
    case database
    case databaseTransport
    case schema
    case privileges
    case auditPartitions
    case auditSeals
    case durability
    case connections
    case pooler
    case clock
    case keyRing
    case passwords
    case consoleStaff
    case appleTeams
    case appleSecret
    case appleKeys
    case googleKeys
    case appleEndpoints
    case googleEndpoints
    case googleEvents
    case mail
    case publicURL = "publicUrl"
    case webSignIn
    case appFlip
    case consentTexts
    case webhooks
}
