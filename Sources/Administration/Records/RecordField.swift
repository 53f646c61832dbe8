package import Accounts
package import JSON

/// A record that administrators see. Its one list of fields makes the members of the admin API and of the lines that
/// commands print, and the columns of the console; the schema of `openapi.yaml` is compared with it.
package protocol AdminRecord: Sendable {
    /// In the order in which they are written.
    static var fields: [RecordField<Self>] { get }
}

/// A field of a record.
package struct RecordField<Record: Sendable>: Sendable {
    /// The member in JSON.
    package let name: String
    /// The column at the console.
    package let title: String
    /// Absent where there is none.
    package let value: @Sendable (Record) -> RecordValue?

    init(_ name: String, _ title: String, _ value: @escaping @Sendable (Record) -> RecordValue?) {
        self.name = name
        self.title = title
        self.value = value
    }

    /// The same field of what contains the record.
    func of<Whole: Sendable>(_ part: @escaping @Sendable (Whole) -> Record) -> RecordField<Whole> {
        RecordField<Whole>(name, title) { value(part($0)) }
    }
}

/// A value as each front shows it in its own way.
package enum RecordValue: Sendable {
    case text(String)
    /// An id, a code, an error: read letter by letter.
    case code(String)
    case codes([String])
    /// A word of a state; `isBad` where it needs attention.
    case status(String, isBad: Bool)
    case provider(Provider)
    case number(Int)
    case flag(Bool)
    case time(Timestamp)
    /// Numbers by word, in their order.
    case counts([(word: String, count: Int)])
}

extension RecordField {
    static func text(_ name: String, _ title: String, _ value: @escaping @Sendable (Record) -> String?) -> RecordField {
        RecordField(name, title) { value($0).map(RecordValue.text) }
    }

    static func code(_ name: String, _ title: String, _ value: @escaping @Sendable (Record) -> String?) -> RecordField {
        RecordField(name, title) { value($0).map(RecordValue.code) }
    }

    static func id<Subject>(
        _ name: String, _ title: String, _ value: @escaping @Sendable (Record) -> Identifier<Subject>?
    ) -> RecordField {
        RecordField(name, title) { value($0).map { .code("\($0)") } }
    }

    static func codes(
        _ name: String, _ title: String, _ value: @escaping @Sendable (Record) -> [String]
    ) -> RecordField {
        RecordField(name, title) { .codes(value($0)) }
    }

    /// - Parameter bad: the word that is one.
    static func status(bad: String? = nil, _ value: @escaping @Sendable (Record) -> String) -> RecordField {
        RecordField("status", "Status") { record in
            let word = value(record)
            return .status(word, isBad: word == bad)
        }
    }

    static func number(_ name: String, _ title: String, _ value: @escaping @Sendable (Record) -> Int) -> RecordField {
        RecordField(name, title) { .number(value($0)) }
    }

    static func flag(_ name: String, _ title: String, _ value: @escaping @Sendable (Record) -> Bool) -> RecordField {
        RecordField(name, title) { .flag(value($0)) }
    }

    static func time(
        _ name: String, _ title: String, _ value: @escaping @Sendable (Record) -> Timestamp?
    ) -> RecordField {
        RecordField(name, title) { value($0).map(RecordValue.time) }
    }
}

extension JSONWriter {
    /// The members of a record; those without a value are left out.
    package mutating func members<Record: AdminRecord>(of record: Record) {
        for field in Record.fields {
            switch field.value(record) {
            case nil: break
            case .text(let text), .code(let text), .status(let text, _): member(field.name, text)
            case .codes(let texts): member(field.name, texts)
            case .provider(let provider): member(field.name, provider.rawValue)
            case .number(let number): member(field.name, number)
            case .flag(let flag): member(field.name, flag)
            case .time(let time): member(field.name, time.rfc3339)
            case .counts(let counts):
                object(field.name) { writer in
                    for (word, count) in counts { writer.member(word, count) }
                }
            }
        }
    }
}

extension AdminRecord {
    /// The record as one line of JSON, as commands print it.
    package var line: String { JSONWriter.text { $0.members(of: self) } }
}
