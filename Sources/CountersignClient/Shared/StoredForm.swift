import Foundation

/// What a store holds: a JSON object with `"v":1` among its members. Members that this version does not know are
/// ignored; another `v` is refused, as a later version may mean something else by the same names.
enum StoredForm {
    static let version = 1

    /// - Parameter data: the document; nil is nil.
    static func read<Form: Decodable>(_ type: Form.Type, _ data: Data?) throws(SessionError) -> Form? {
        guard let data else { return nil }
        guard let version = JSONText.decode(Version.self, from: data)?.v else {
            throw .storage("the store holds no session document")
        }
        guard version == Self.version else { throw .storage("the document has version \(version)") }
        guard let form = JSONText.decode(type, from: data) else { throw .storage("the document is not complete") }
        return form
    }

    static func write(_ form: some Encodable) throws(SessionError) -> Data {
        try JSONText.encode(Versioned(form: form))
    }

    private struct Version: Codable {
        let v: Int
    }

    private struct Versioned<Form: Encodable>: Encodable {
        let form: Form

        func encode(to encoder: any Encoder) throws {
            try form.encode(to: encoder)
            try Version(v: StoredForm.version).encode(to: encoder)
        }
    }
}
