import Primitives

extension Request {
    /// Reads the form of the body (`application/x-www-form-urlencoded`) through `read`, which takes from it each field
    /// that the operation knows.
    ///
    /// - Parameter ignoresUnknown: whether the form may have other fields, as one that another site's page has sent may.
    /// - Throws: 400 with every invalid field; 400 and 415 for a body that is no form; errors that `read` throws itself.
    package func form<Value>(
        ignoringUnknown ignoresUnknown: Bool = false, _ read: (inout FormFields) throws -> Value
    ) throws -> Value {
        guard var fields = FormFields(try body(as: MediaType.form)) else {
            throw Problem(.invalidRequest, detail: "The form is not well-formed.")
        }
        let value = try read(&fields)
        let errors = fields.finish(ignoringUnknown: ignoresUnknown)
        guard errors.isEmpty else { throw Problem(.invalidRequest, errors: Array(errors.prefix(16))) }
        return value
    }
}

/// The fields of a form, `name=value` joined by `&`, as browsers encode them (WHATWG URL §5.1): percent-encoded UTF-8,
/// in which `+` is a space.
///
/// Each name is there once: of two values with one name different readers take different ones.
package struct FormFields {
    /// More than any form of ours or of a provider has.
    private static let maximumFields = 32

    private var pairs: [(name: String, value: String)] = []
    private var known: [String] = []
    private var errors: [FieldError] = []

    /// - Returns: `nil` for bytes that are not percent-encoded UTF-8, a field without a name, and too many fields.
    init?(_ bytes: [UInt8]) {
        for pair in bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard pairs.count < Self.maximumFields, let name = Self.decoded(parts[0]), !name.isEmpty,
                let value = parts.count == 2 ? Self.decoded(parts[1]) : ""
            else { return nil }
            pairs.append((name, value))
        }
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                    let low = rest.popFirst().flatMap(Hexadecimal.value)
                else { return nil }
                bytes.append(high << 4 | low)
            case 0x21..<0x7F: bytes.append(byte)
            default: return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    fileprivate func finish(ignoringUnknown ignoresUnknown: Bool) -> [FieldError] {
        guard !ignoresUnknown else { return errors }
        let unknown = pairs.filter { pair in !known.contains { $0.utf8.elementsEqual(pair.name.utf8) } }
        return errors + unknown.map { FieldError(field: String($0.name.prefix(64)), reason: .unknown) }
    }

    /// All values of a field, for an operation that answers by itself for what is repeated.
    package mutating func all(_ name: String) -> [String] {
        known.append(name)
        return pairs.filter { $0.name.utf8.elementsEqual(name.utf8) }.map(\.value)
    }

    package mutating func reject(_ name: String, _ reason: FieldError.Reason) {
        errors.append(FieldError(field: name, reason: reason))
    }

    /// A text that may be absent.
    ///
    /// - Parameters:
    ///   - maximumBytes: length limit in UTF-8.
    ///   - allowsControls: whether control characters are part of it, as they may be of the JSON in a field.
    package mutating func optionalString(
        _ name: String, maximumBytes: Int = 1024, allowsControls: Bool = false
    ) -> String? {
        known.append(name)
        let values = pairs.filter { $0.name.utf8.elementsEqual(name.utf8) }.map(\.value)
        guard let text = values.first else { return nil }
        guard values.count == 1 else {
            reject(name, .duplicate)
            return nil
        }
        guard text.utf8.count <= maximumBytes else {
            reject(name, .tooLong)
            return nil
        }
        guard allowsControls || !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            reject(name, .invalid)
            return nil
        }
        return text
    }

    /// A required text; `""` after an error, as in ``RequestFields``.
    package mutating func string(_ name: String, maximumBytes: Int = 1024) -> String {
        let count = errors.count
        if let text = optionalString(name, maximumBytes: maximumBytes) { return text }
        if errors.count == count { reject(name, .required) }
        return ""
    }

    /// The result of `parse` for a text that may be absent.
    package mutating func optionalValue<Value>(_ name: String, as parse: (String) -> Value?) -> Value? {
        guard let text = optionalString(name) else { return nil }
        guard let value = parse(text) else {
            reject(name, .invalid)
            return nil
        }
        return value
    }

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
}
