import JSON

/// What keeps a row from being read. It names members, and has nothing of their values.
package enum RowFault: Error, Hashable, Sendable {
    /// No JSON object, or no whole record.
    case unreadable
    /// Longer or deeper than a row may be, or with more in it.
    case overLimit
    case required(String)
    case unknown(String)
    case duplicate(String)
    /// Not of the type, or not of the form, that the member has to be.
    case invalid(String)

    /// The kind of fault, and the member: `unknown:emailVerfied`.
    package var text: String {
        switch self {
        case .unreadable: "unreadable"
        case .overLimit: "over_limit"
        case .required(let member): "required:\(member)"
        case .unknown(let member): "unknown:\(member)"
        case .duplicate(let member): "duplicate:\(member)"
        case .invalid(let member): "invalid:\(member)"
        }
    }
}

extension RowFault {
    init(_ error: JSONError, in row: [UInt8]) {
        switch error.kind {
        case .limit: self = .overLimit
        case .duplicateName:
            // It is detected behind the quotation mark that ends the name.
            let before = row.prefix(max(0, error.offset - 1))
            let name = before.lastIndex(of: UInt8(ascii: "\"")).map { before[($0 + 1)...] } ?? before
            self = .duplicate(String(decoding: name, as: UTF8.self))
        case .syntax, .truncated, .encoding, .loneSurrogate, .controlCharacter: self = .unreadable
        }
    }
}

extension SourceRow {
    /// What the body makes of a row's object; malformed where it is none.
    ///
    /// - Parameter id: the row's, where it is known beforehand.
    init(of bytes: RowBytes, id: String? = nil, _ read: (JSONValue) throws(RowFault) -> SourceRow) {
        do throws(RowFault) {
            self = try read(try JSONValue(row: bytes))
        } catch {
            self = .malformed(externalID: id, error)
        }
    }
}
