import Accounts
import Administration
import JSON

/// Members of the admin API's values.
extension JSONWriter {
    mutating func members(of record: AccountRecord) {
        members(of: record.account)
        member("disabledReason", record.disabledReason)
        if let replacement = record.emailReplacement {
            object("emailReplacement") { $0.members(of: replacement) }
        }
    }
}
