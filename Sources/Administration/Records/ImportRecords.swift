import Accounts
package import Storage

extension ImportRecord: AdminRecord {
    package static let fields: [RecordField<ImportRecord>] = [
        .code("name", "Import") { $0.name.text },
        .code("source", "Source") { $0.source },
        .code("state", "State") { $0.state.rawValue },
        RecordField("accounts", "Accounts") { $0.accounts.map(RecordValue.number) },
        .time("createdAt", "First run") { $0.createdAt },
        .time("lastRunAt", "Last run") { $0.lastRunAt },
        .time("finishedAt", "Finished") { $0.finishedAt },
        RecordField("counts", "Rows of the last run") { record in
            .counts(record.counts.map { (word: $0.outcome, count: $0.count) })
        },
    ]
}
