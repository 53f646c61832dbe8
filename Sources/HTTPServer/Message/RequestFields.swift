import JSON

extension Request {
    /// Reads the JSON object of the body through `read`, which takes from it each member that the operation knows.
    ///
    /// - Throws: 400 with every invalid member, unknown ones included; 400 and 415 for a body that is no JSON object;
    ///   errors that `read` throws itself.
    package func fields<Value>(_ read: (inout RequestFields) throws -> Value) throws -> Value {
        let bytes = try body(as: MediaType.json)
        let object: JSONValue
        do throws(JSONError) {
            object = try JSONValue(parsing: bytes, limits: .requestBody)
        } catch {
            throw Problem(.invalidRequest, detail: "The body is not JSON as we read it: see byte \(error.offset).")
        }
        guard var fields = RequestFields(object) else {
            throw Problem(.invalidRequest, detail: "The body is not a JSON object.")
        }
        return try fields.complete(read)
    }

    /// The same for an operation that takes a body and needs none.
    ///
    /// - Returns: `nil` when there is none.
    package func optionalFields<Value>(_ read: (inout RequestFields) throws -> Value) throws -> Value? {
        body.isEmpty ? nil : try fields(read)
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

/// The members of one JSON object of a request, read by type.
///
/// Errors are collected rather than thrown, so that one response names them all: a required string that is missing
/// reads as `""`, and the value built from it is discarded. `null` is a type of its own and never stands for an absent
/// member; only ``patch(_:maximumBytes:as:)`` takes it.
package struct RequestFields {
    /// Thrown where no placeholder exists to continue with. The field error has been recorded.
    private struct Unreadable: Error {}

    private let object: JSONValue
    private let members: [(name: String, value: JSONValue)]
    /// The prefix of names in `errors`: empty, or the path of this object and a dot.
    private let path: String
    private var known: [String] = []
    private var errors: [FieldError] = []

    fileprivate init?(_ object: JSONValue, path: String = "") {
        guard let members = object.members else { return nil }
        self.object = object
        self.members = members
        self.path = path
    }

    /// Reads all members, then rejects those that were not read: a member without a meaning must not appear to have
    /// one.
    fileprivate mutating func complete<Value>(_ read: (inout RequestFields) throws -> Value) throws -> Value {
        let value: Value
        do {
            value = try read(&self)
        } catch is Unreadable {
            throw problem
        }
        rejectUnknown()
        guard errors.isEmpty else { throw problem }
        return value
    }

    private var problem: Problem { Problem(.invalidRequest, errors: Array(errors.prefix(16))) }

    private mutating func rejectUnknown() {
        for (name, _) in members where !known.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            errors.append(FieldError(field: path + name.prefix(64), reason: .unknown))
        }
    }

    /// Records an error that only the operation can detect, such as both of two members being absent.
    package mutating func reject(_ name: String, _ reason: FieldError.Reason) {
        errors.append(FieldError(field: path + name, reason: reason))
    }

    private mutating func member(_ name: String) -> JSONValue? {
        known.append(name)
        return object[name]
    }

    // MARK: Strings

    /// A string that may be absent.
    ///
    /// - Parameter maximumBytes: length limit in UTF-8.
    package mutating func optionalString(_ name: String, maximumBytes: Int = 1024) -> String? {
        guard let value = member(name) else { return nil }
        guard let text = value.string else {
            reject(name, .wrongType)
            return nil
        }
        guard text.utf8.count <= maximumBytes else {
            reject(name, .tooLong)
            return nil
        }
        return text
    }

    /// A required string.
    package mutating func string(_ name: String, maximumBytes: Int = 1024) -> String {
        required(name) { fields in fields.optionalString(name, maximumBytes: maximumBytes) } ?? ""
    }

    // MARK: Parsed values

    /// The result of `parse` for a string that may be absent.
    package mutating func optionalValue<Value>(
        _ name: String, maximumBytes: Int = 1024, as parse: (String) -> Value?
    ) -> Value? {
        guard let text = optionalString(name, maximumBytes: maximumBytes) else { return nil }
        guard let value = parse(text) else {
            reject(name, .invalid)
            return nil
        }
        return value
    }

    /// The result of `parse` for a required string.
    ///
    /// - Throws: when there is none, which ends the reading.
    package mutating func value<Value>(
        _ name: String, maximumBytes: Int = 1024, as parse: (String) -> Value?
    ) throws -> Value {
        let value = required(name) { fields in
            fields.optionalValue(name, maximumBytes: maximumBytes, as: parse)
        }
        guard let value else { throw Unreadable() }
        return value
    }

    /// What a member does to a value that may be unset: the result of `parse` for a string sets it, `null` clears it.
    package mutating func patch<Value>(
        _ name: String, maximumBytes: Int = 1024, as parse: (String) -> Value?
    ) -> Patch<Value> {
        if let value = object[name], value.isNull {
            known.append(name)
            return .clear
        }
        return optionalValue(name, maximumBytes: maximumBytes, as: parse).map(Patch.set) ?? .keep
    }

    // MARK: Choices

    /// One of the cases of `Choice`, which may be absent.
    package mutating func optionalChoice<Choice: RawRepresentable<String>>(
        _ name: String, of choice: Choice.Type
    ) -> Choice? {
        guard let text = optionalString(name) else { return nil }
        guard let value = Choice(rawValue: text), value.rawValue.utf8.elementsEqual(text.utf8) else {
            reject(name, .notAllowed)
            return nil
        }
        return value
    }

    /// One of the cases of `Choice`.
    ///
    /// - Throws: when there is none, which ends the reading.
    package mutating func choice<Choice: RawRepresentable<String>>(
        _ name: String, of choice: Choice.Type
    ) throws -> Choice {
        guard let value = required(name, { fields in fields.optionalChoice(name, of: choice) }) else {
            throw Unreadable()
        }
        return value
    }

    // MARK: Others

    package mutating func optionalBool(_ name: String) -> Bool? {
        guard let value = member(name) else { return nil }
        guard let bool = value.bool else {
            reject(name, .wrongType)
            return nil
        }
        return bool
    }

    /// A whole number that may be absent.
    package mutating func optionalInteger(_ name: String, in range: ClosedRange<Int>) -> Int? {
        guard let value = member(name) else { return nil }
        guard let integer = value.integer else {
            reject(name, .wrongType)
            return nil
        }
        guard let integer = Int(exactly: integer), range.contains(integer) else {
            reject(name, .invalid)
            return nil
        }
        return integer
    }

    /// The results of `parse` for the texts of an array that may be absent.
    package mutating func values<Value>(
        _ name: String, maximum: Int = 64, as parse: (String) -> Value?
    ) -> [Value]? {
        guard let value = member(name) else { return nil }
        guard let elements = value.elements, elements.allSatisfy({ $0.string != nil }) else {
            reject(name, .wrongType)
            return nil
        }
        guard elements.count <= maximum else {
            reject(name, .tooLong)
            return nil
        }
        let values = elements.compactMap { $0.string.flatMap(parse) }
        guard values.count == elements.count else {
            reject(name, .invalid)
            return nil
        }
        return values
    }

    /// The members of an object that may be absent.
    package mutating func optionalObject<Value>(
        _ name: String, _ read: (inout RequestFields) throws -> Value
    ) throws -> Value? {
        guard let value = member(name) else { return nil }
        guard var fields = RequestFields(value, path: path + name + ".") else {
            reject(name, .wrongType)
            return nil
        }
        defer { errors += fields.errors }
        let result = try read(&fields)
        fields.rejectUnknown()
        return result
    }

    /// Records that a member is missing, unless reading it has recorded another error already.
    private mutating func required<Value>(
        _ name: String, _ read: (inout RequestFields) -> Value?
    ) -> Value? {
        let count = errors.count
        let value = read(&self)
        if value == nil, errors.count == count { reject(name, .required) }
        return value
    }
}
