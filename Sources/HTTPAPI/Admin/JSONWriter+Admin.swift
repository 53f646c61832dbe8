package import Accounts
import Administration
package import JSON

/// Members of the admin API's values.
extension JSONWriter {
    /// A person as administrators see them, in the admin API and on the command line.
    package mutating func members(of record: AccountRecord) {
        members(of: record.account)
        member("disabledReason", record.disabledReason)
        if let replacement = record.emailReplacement {
            object("emailReplacement") { $0.members(of: replacement) }
        }
    }

    /// A session likewise: never the one that asks.
    package mutating func members(of session: SessionSummary) { members(of: session, isCurrent: false) }
}
