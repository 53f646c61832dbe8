import Accounts
import Administration

/// How the console shows a record.
extension ConsoleCell {
    init(_ value: RecordValue?) {
        switch value {
        case nil: self = .none
        case .text(let text): self = .text(text)
        case .code(let text): self = .code(text)
        case .codes(let texts): self = .lines(texts.map { .code($0) })
        case .status(let word, let isBad): self = .badge(word, isBad ? .bad : .plain)
        case .provider(let provider): self = .text(provider.brand)
        case .number(let number): self = .number(number)
        case .flag(let flag): self = .text(flag ? "yes" : "no")
        case .time(let time): self = .time(time)
        case .counts(let counts): self = .lines(counts.map { .text("\($0.word) \($0.count)") })
        }
    }
}

extension ConsoleTable {
    /// A table of records, with those of their fields that are named.
    ///
    /// - Parameters:
    ///   - shown: cells in place of a field's own.
    ///   - acts: the buttons of a row; without them there is no such column.
    init<Record: AdminRecord>(
        of records: [Record], caption: String, fields names: [String],
        next: String? = nil, shown: [String: (Record) -> ConsoleCell] = [:],
        acts: ((Record) -> [ConsoleCell])? = nil
    ) {
        let fields = names.compactMap { name in Record.fields.first { $0.name == name } }
        self.init(
            caption: caption, columns: fields.map(\.title) + (acts == nil ? [] : ["Acts"]),
            rows: records.map { record in
                fields.map { field in shown[field.name]?(record) ?? ConsoleCell(field.value(record)) }
                    + (acts.map { [.row($0(record))] } ?? [])
            }, next: next)
    }
}
