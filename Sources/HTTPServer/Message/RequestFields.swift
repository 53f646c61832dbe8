import JSON

extension Request {
    /// Reads the JSON object of the body through `read`, which takes from it each member that the operation knows.
    ///
    /// - Throws: 400 with every fault of the object's members, unknown ones included; 400 and 415 for a body that is no JSON
    ///   object; what `read` throws by itself.
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
}

/// The members of one JSON object of a request, read by type.
///
/// Faults are collected rather than thrown, so that one answer names them all: a required string that isn't there reads as
/// `""`, and the value built of it is thrown away. `null` is a type of its own and never stands for an absent member.
package struct RequestFields {
    /// Thrown where there is no stand-in to go on with. The fault itself has been noted.
    private struct Fault: Error {}

    private let object: JSONValue
    private let members: [(name: String, value: JSONValue)]
    /// What stands before a name in `errors`: nothing, or the path of this object and a dot.
    private let path: String
    private var known: [String] = []
    private var errors: [FieldError] = []

    fileprivate init?(_ object: JSONValue, path: String = "") {
        guard let members = object.members else { return nil }
        self.object = object
        self.members = members
        self.path = path
    }

    /// Reads everything, then refuses what nobody asked for: a member that has no meaning here must not seem to count.
    fileprivate mutating func complete<Value>(_ read: (inout RequestFields) throws -> Value) throws -> Value {
        let value: Value
        do {
            value = try read(&self)
        } catch is Fault {
            throw problem
        }
        noteUnknown()
        guard errors.isEmpty else { throw problem }
        return value
    }

    private var problem: Problem { Problem(.invalidRequest, errors: Array(errors.prefix(16))) }

    private mutating func noteUnknown() {
        for (name, _) in members where !known.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            errors.append(FieldError(field: path + name.prefix(64), reason: .unknown))
        }
    }

    /// Notes a fault that only the operation can see, such as neither of two members being there.
    package mutating func refuse(_ name: String, _ reason: FieldError.Reason) {
        errors.append(FieldError(field: path + name, reason: reason))
    }

    private mutating func member(_ name: String) -> JSONValue? {
        known.append(name)
        return object[name]
    }

    // MARK: Strings

    /// A string that may be absent.
    ///
    /// - Parameter maximumBytes: of UTF-8.
    package mutating func optionalString(_ name: String, maximumBytes: Int = 1024) -> String? {
        guard let value = member(name) else { return nil }
        guard let text = value.string else {
            refuse(name, .wrongType)
            return nil
        }
        guard text.utf8.count <= maximumBytes else {
            refuse(name, .tooLong)
            return nil
        }
        return text
    }

    /// A string that has to be there.
    package mutating func string(_ name: String, maximumBytes: Int = 1024) -> String {
        required(name) { fields in fields.optionalString(name, maximumBytes: maximumBytes) } ?? ""
    }

    // MARK: Values of a form

    /// What `parse` makes of a string that may be absent.
    package mutating func optionalValue<Value>(
        _ name: String, maximumBytes: Int = 1024, as parse: (String) -> Value?
    ) -> Value? {
        guard let text = optionalString(name, maximumBytes: maximumBytes) else { return nil }
        guard let value = parse(text) else {
            refuse(name, .invalid)
            return nil
        }
        return value
    }

    /// What `parse` makes of a string that has to be there. Without it reading stops here.
    package mutating func value<Value>(
        _ name: String, maximumBytes: Int = 1024, as parse: (String) -> Value?
    ) throws -> Value {
        let value = required(name) { fields in
            fields.optionalValue(name, maximumBytes: maximumBytes, as: parse)
        }
        guard let value else { throw Fault() }
        return value
    }

    // MARK: Choices

    /// One of the cases of `Choice`, or nothing.
    package mutating func optionalChoice<Choice: RawRepresentable<String>>(
        _ name: String, of choice: Choice.Type
    ) -> Choice? {
        guard let text = optionalString(name) else { return nil }
        guard let value = Choice(rawValue: text), value.rawValue.utf8.elementsEqual(text.utf8) else {
            refuse(name, .notAllowed)
            return nil
        }
        return value
    }

    /// One of the cases of `Choice`. Without it reading stops here.
    package mutating func choice<Choice: RawRepresentable<String>>(
        _ name: String, of choice: Choice.Type
    ) throws -> Choice {
        guard let value = required(name, { fields in fields.optionalChoice(name, of: choice) }) else { throw Fault() }
        return value
    }

    // MARK: Others

    package mutating func optionalBool(_ name: String) -> Bool? {
        guard let value = member(name) else { return nil }
        guard let bool = value.bool else {
            refuse(name, .wrongType)
            return nil
        }
        return bool
    }

    /// The members of an object that may be absent.
    package mutating func optionalObject<Value>(
        _ name: String, _ read: (inout RequestFields) throws -> Value
    ) throws -> Value? {
        guard let value = member(name) else { return nil }
        guard var fields = RequestFields(value, path: path + name + ".") else {
            refuse(name, .wrongType)
            return nil
        }
        defer { errors += fields.errors }
        let result = try read(&fields)
        fields.noteUnknown()
        return result
    }

    /// Notes that a member is missing, unless reading it has noted another fault already.
    private mutating func required<Value>(
        _ name: String, _ read: (inout RequestFields) -> Value?
    ) -> Value? {
        let faults = errors.count
        let value = read(&self)
        if value == nil, errors.count == faults { refuse(name, .required) }
        return value
    }
}
