import Accounts
import Foundation

/// Who types a command, in their own words: any name can be stated.
enum StatedOperator {
    static let variable = "COUNTERSIGN_OPERATOR"

    static var name: String? { name(in: ProcessInfo.processInfo.environment) }

    /// What the trail can't have, or what it calls others, is as if it were not set.
    static func name(in environment: [String: String]) -> String? {
        environment[variable].flatMap { AuditEvent.isActorName($0) && AuditEvent.Actor(rawValue: $0) == nil ? $0 : nil }
    }
}

extension ChangeOrigin {
    /// The operator who types this command, who notifies in no language.
    static var thisOperator: ChangeOrigin { .commandLine(named: StatedOperator.name) }
}
