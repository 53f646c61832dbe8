/// The parameters of an authorization request, none of them unknown and none there twice.
struct BrowserQuery: Sendable {
    enum Fault: Error {
        /// A broken percent sign, or octets that are not UTF-8.
        case encoding
        /// A `+` in the value of this parameter.
        case plus(String)
        case repeated(String)
        case unknown(String)
    }

    private let fields: [(name: String, value: String)]

    /// - Parameter takesPlus: whether a `+` is a space, as in a form.
    init(_ text: String, known: Set<String>, takesPlus: Bool) throws(Fault) {
        guard let fields = FormFields(Array(text.utf8))?.fields else { throw .encoding }
        var names: Set<String> = []
        for (field, pair) in zip(fields, text.split(separator: "&")) {
            guard known.contains(field.name) else { throw .unknown(field.name) }
            guard names.insert(field.name).inserted else { throw .repeated(field.name) }
            if !takesPlus, pair.contains("+") { throw .plus(field.name) }
        }
        self.fields = fields
    }

    /// nil when the parameter is missing or empty.
    subscript(_ name: String) -> String? {
        fields.first { $0.name == name && !$0.value.isEmpty }?.value
    }

    /// The words of a value that is a list (RFC 6749 §3.3).
    func words(_ name: String) -> [String] {
        self[name]?.split(separator: " ").map(String.init) ?? []
    }
}
