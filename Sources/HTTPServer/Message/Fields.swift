import JSON
import Primitives

extension Request {
    /// Reads the JSON object of the body through `read`, which takes from it each member that the operation knows.
    ///
    /// - Throws: 400 with every invalid member, unknown ones included; 400 and 415 for a body that is no JSON object;
    ///   errors that `read` throws itself.
    package func fields<Value>(_ read: (inout Fields) throws -> Value) throws -> Value {
        let bytes = try body(as: MediaType.json)
        let object: JSONValue
        do throws(JSONError) {
            object = try JSONValue(parsing: bytes, limits: .requestBody)
        } catch {
            throw Problem(.invalidRequest, detail: "The body is not JSON as we read it: see byte \(error.offset).")
        }
        guard var fields = Fields(object) else {
            throw Problem(.invalidRequest, detail: "The body is not a JSON object.")
        }
        return try fields.complete(read)
    }

    /// The same for an operation that takes a body and needs none: `nil` without one.
    package func optionalFields<Value>(_ read: (inout Fields) throws -> Value) throws -> Value? {
        body.isEmpty ? nil : try fields(read)
    }

    /// Refuses the members of a body that comes to an operation which takes none, as unknown ones are.
    ///
    /// - Throws: as ``fields(_:)`` does; nothing for an empty body and for an empty object.
    package func requireNoMembers() throws { _ = try optionalFields { _ in } }

    /// Reads the query through `read`, which takes from it each parameter that the operation knows.
    ///
    /// - Throws: 400 with every invalid parameter, unknown and repeated ones included.
    package func query<Value>(_ read: (inout Fields) -> Value) throws(Problem) -> Value {
        var fields = Fields(query: try queryPairs(.query))
        let value = read(&fields)
        try fields.finish()
        return value
    }

    /// Reads the form of the body (`application/x-www-form-urlencoded`) through `read`, which takes from it each field
    /// that the operation knows.
    ///
    /// - Parameter ignoresUnknown: whether the form may have other fields, as one that another site's page has sent may.
    /// - Throws: 400 with every invalid field; 400 and 415 for a body that is no form; errors that `read` throws itself.
    package func form<Value>(
        ignoringUnknown ignoresUnknown: Bool = false, _ read: (inout Fields) throws -> Value
    ) throws -> Value {
        guard let pairs = URLEncodedPairs.pairs(in: try body(as: MediaType.form), .form) else {
            throw Problem(.invalidRequest, detail: "The form is not well-formed.")
        }
        var fields = Fields(form: pairs)
        return try fields.complete(ignoringUnknown: ignoresUnknown, read)
    }
}

/// What a member of a PATCH does (RFC 7396 §2).
package enum Patch<Value> {
    /// It is absent.
    case keep
    /// It is `null`.
    case clear
    case set(Value)
}

/// What a request names: the members of its JSON body or of an object in it, the parameters of its query, or the fields
/// of its form, read by type.
///
/// Errors are collected rather than thrown, so that one response names them all, unknown members included: what is
/// required and missing reads as a placeholder, a string as `""`, and the value built from it is discarded. `null` is a
/// type of its own and never stands for an absent member; only ``patch(_:as:)`` takes it. The texts of queries and
/// forms are of no type but string, but for the whole numbers of a query.
package struct Fields {
    private enum Source {
        case object(JSONValue)
        case query
        /// Each name is there once: of two values with one name different readers take different ones.
        case form
    }

    private enum Member {
        case json(JSONValue)
        case text(String)

        var string: String? {
            switch self {
            case .json(let value): value.string
            case .text(let text): text
            }
        }

        var json: JSONValue? { if case .json(let value) = self { value } else { nil } }
    }

    private let source: Source
    private let members: [(name: String, value: Member)]
    /// The prefix of names in `errors`: empty, or the path of this object and a dot.
    private let path: String
    private var known: [String] = []
    private var errors: [FieldError] = []

    fileprivate init?(_ object: JSONValue, path: String = "") {
        guard let members = object.members else { return nil }
        source = .object(object)
        self.members = members.map { ($0.name, .json($0.value)) }
        self.path = path
    }

    /// Records each parameter that is repeated.
    fileprivate init(query pairs: [(name: String, value: String)]) {
        source = .query
        members = pairs.map { ($0.name, .text($0.value)) }
        path = ""
        for (index, pair) in pairs.enumerated()
        where pairs[..<index].contains(where: { $0.name.hasSameBytes(as: pair.name) }) {
            reject(String(pair.name.prefix(64)), .duplicate)
        }
    }

    fileprivate init(form pairs: [(name: String, value: String)]) {
        source = .form
        members = pairs.map { ($0.name, .text($0.value)) }
        path = ""
    }

    /// Reads all members, then rejects those that were not read: a member without a meaning must not appear to have
    /// one.
    fileprivate mutating func complete<Value>(
        ignoringUnknown ignoresUnknown: Bool = false, _ read: (inout Fields) throws -> Value
    ) throws -> Value {
        let value = try read(&self)
        try finish(ignoringUnknown: ignoresUnknown)
        return value
    }

    fileprivate mutating func finish(ignoringUnknown ignoresUnknown: Bool = false) throws(Problem) {
        if !ignoresUnknown { rejectUnknown() }
        guard errors.isEmpty else { throw Problem(.invalidRequest, errors: Array(errors.prefix(16))) }
    }

    private mutating func rejectUnknown() {
        for (name, _) in members where !known.contains(where: { $0.hasSameBytes(as: name) }) {
            reject(String(name.prefix(64)), .unknown)
        }
    }

    /// Records an error that only the operation can detect, such as both of two members being absent. The first one of a
    /// member counts: what follows is read from what it has refused.
    package mutating func reject(_ name: String, _ reason: FieldError.Reason) {
        guard !isRejected(name) else { return }
        errors.append(FieldError(field: path + name, reason: reason))
    }

    /// The same of a member that has no value by it.
    private mutating func rejected<Value>(_ name: String, _ reason: FieldError.Reason) -> Value? {
        reject(name, reason)
        return nil
    }

    package func isRejected(_ name: String) -> Bool {
        let field = path + name
        return errors.contains { $0.field.hasSameBytes(as: field) }
    }

    private mutating func member(_ name: String) -> Member? {
        known.append(name)
        guard let index = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
        if case .form = source, members[(index + 1)...].contains(where: { $0.name.hasSameBytes(as: name) }) {
            return rejected(name, .duplicate)
        }
        return members[index].value
    }

    /// All texts of a name, for an operation that answers by itself for what is repeated.
    package mutating func all(_ name: String) -> [String] {
        known.append(name)
        return members.filter { $0.name.hasSameBytes(as: name) }.compactMap(\.value.string)
    }

    /// Whether a name comes more than once, known or not (RFC 6749 §3.2). An empty value is no value.
    package var hasRepeats: Bool {
        let names = members.filter { $0.value.string?.isEmpty != true }.map { Array($0.name.utf8) }
        return Set(names).count < names.count
    }

    // MARK: Strings

    /// A string that may be absent.
    ///
    /// - Parameters:
    ///   - maximumBytes: length limit in UTF-8.
    ///   - allowsControls: whether control characters are part of a form's field, as they may be of JSON in it.
    package mutating func optionalString(
        _ name: String, maximumBytes: Int = 1024, allowsControls: Bool = false
    ) -> String? {
        guard let value = member(name) else { return nil }
        guard let text = value.string else { return rejected(name, .wrongType) }
        guard text.utf8.count <= maximumBytes else { return rejected(name, .tooLong) }
        if case .form = source, !allowsControls, text.utf8.contains(where: \.isASCIIControl) {
            return rejected(name, .invalid)
        }
        return text
    }

    /// A required string.
    package mutating func string(_ name: String, maximumBytes: Int = 1024, allowsControls: Bool = false) -> String {
        required(name) { fields in
            fields.optionalString(name, maximumBytes: maximumBytes, allowsControls: allowsControls)
        } ?? ""
    }

    // MARK: Parsed values

    /// The result of `parse` for a string that may be absent.
    package mutating func optionalValue<Value>(_ name: String, as parse: (String) -> Value?) -> Value? {
        guard let text = optionalString(name) else { return nil }
        guard let value = parse(text) else { return rejected(name, .invalid) }
        return value
    }

    /// The result of `parse` for a required string; `nil` only with an error recorded.
    package mutating func value<Value>(_ name: String, as parse: (String) -> Value?) -> Value? {
        required(name) { fields in fields.optionalValue(name, as: parse) }
    }

    /// What a member does to a value that may be unset: the result of `parse` for a string sets it, `null` clears it.
    package mutating func patch<Value>(_ name: String, as parse: (String) -> Value?) -> Patch<Value> {
        if case .object(let object) = source, let value = object[name], value.isNull {
            known.append(name)
            return .clear
        }
        return optionalValue(name, as: parse).map(Patch.set) ?? .keep
    }

    // MARK: Choices

    /// One of the cases of `Choice`, which may be absent.
    package mutating func optionalChoice<Choice: RawRepresentable<String>>(
        _ name: String, of choice: Choice.Type
    ) -> Choice? {
        guard let text = optionalString(name) else { return nil }
        guard let value = Choice(rawValue: text), value.rawValue.hasSameBytes(as: text) else {
            return rejected(name, .notAllowed)
        }
        return value
    }

    /// One of the cases of `Choice`, of which the first is the placeholder.
    package mutating func choice<Choice: RawRepresentable<String>>(
        _ name: String, of choice: Choice.Type
    ) -> Choice where Choice: CaseIterable {
        required(name) { fields in fields.optionalChoice(name, of: choice) }
            ?? Choice.allCases[Choice.allCases.startIndex]
    }

    // MARK: Others

    package mutating func optionalBool(_ name: String) -> Bool? {
        guard let value = member(name) else { return nil }
        guard let bool = value.json?.bool else { return rejected(name, .wrongType) }
        return bool
    }

    /// A whole number that may be absent: in a query, decimal digits without a sign.
    package mutating func optionalInteger(_ name: String, in range: ClosedRange<Int>) -> Int? {
        if case .query = source {
            guard let value = optionalValue(name, as: { $0.utf8.allSatisfy(\.isASCIIDigit) ? Int($0) : nil }) else {
                return nil
            }
            guard range.contains(value) else { return rejected(name, .outOfRange) }
            return value
        }
        guard let value = member(name) else { return nil }
        guard let integer = value.json?.integer else { return rejected(name, .wrongType) }
        guard let integer = Int(exactly: integer), range.contains(integer) else { return rejected(name, .invalid) }
        return integer
    }

    /// The results of `parse` for the texts of an array that may be absent, 64 at most.
    package mutating func values<Value>(_ name: String, as parse: (String) -> Value?) -> [Value]? {
        guard let value = member(name) else { return nil }
        guard let elements = value.json?.elements, elements.allSatisfy({ $0.string != nil }) else {
            return rejected(name, .wrongType)
        }
        guard elements.count <= 64 else { return rejected(name, .tooLong) }
        let values = elements.compactMap { $0.string.flatMap(parse) }
        guard values.count == elements.count else { return rejected(name, .invalid) }
        return values
    }

    /// The members of an object that may be absent.
    package mutating func optionalObject<Value>(_ name: String, _ read: (inout Fields) -> Value) -> Value? {
        guard let value = member(name) else { return nil }
        guard var fields = value.json.flatMap({ Fields($0, path: path + name + ".") }) else {
            return rejected(name, .wrongType)
        }
        let result = read(&fields)
        fields.rejectUnknown()
        errors += fields.errors
        return result
    }

    /// Records that a member is missing, unless reading it has recorded another error already.
    private mutating func required<Value>(_ name: String, _ read: (inout Fields) -> Value?) -> Value? {
        let value = read(&self)
        if value == nil { reject(name, .required) }
        return value
    }
}
