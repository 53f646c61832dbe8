import Primitives

/// The parameters of an authorization request, none of them unknown and none there twice.
struct BrowserQuery: Sendable {
    let provider: ProviderName
    private let fields: [(name: String, value: String)]

    /// In Google's a `+` is a space, as in a form; Apple's has none.
    init(_ text: String, at provider: ProviderName, known: Set<String>) throws(BrowserRefusal) {
        func refusal(_ reason: String) -> BrowserRefusal {
            BrowserRefusal(provider: provider, code: .invalidRequest, reason: reason)
        }
        guard let fields = FormFields(Array(text.utf8))?.fields else {
            throw refusal("The query is not percent-encoded UTF-8.")
        }
        var names: Set<String> = []
        for (field, pair) in zip(fields, text.split(separator: "&")) {
            guard known.contains(field.name) else { throw refusal("Parameter not allowed: \(field.name).") }
            guard names.insert(field.name).inserted else { throw refusal("\(field.name) is there twice.") }
            guard provider == .google || !pair.contains("+") else {
                throw refusal("\(field.name) has a + in it: a space is %20 here, and a plus sign %2B.")
            }
        }
        (self.provider, self.fields) = (provider, fields)
    }

    /// nil when the parameter is missing or empty.
    subscript(_ name: String) -> String? { fields.first { $0.name == name && !$0.value.isEmpty }?.value }

    func required(_ name: String) throws(BrowserRefusal) -> String {
        guard let value = self[name] else {
            throw refusal(provider == .apple ? "\(name) is missing." : "Missing required parameter: \(name)")
        }
        return value
    }

    /// One of the client's, byte for byte.
    func redirectURI(of registered: [String], else refusal: BrowserRefusal) throws(BrowserRefusal) -> String {
        let requested = try required("redirect_uri")
        guard registered.contains(where: { $0.hasSameBytes(as: requested) }) else { throw refusal }
        return requested
    }

    func choice(_ name: String, of values: [String]) throws(BrowserRefusal) -> String? {
        guard let value = self[name] else { return nil }
        guard values.contains(value) else { throw refusal("\(name) is \(values.joined(separator: " or ")).") }
        return value
    }

    /// The words of a value that is a list (RFC 6749 §3.3).
    func words(_ name: String) -> [String] { self[name]?.split(separator: " ").map(String.init) ?? [] }

    func refusal(_ reason: String) -> BrowserRefusal { refusal(.invalidRequest, reason) }

    func refusal(_ code: OAuthError, _ reason: String) -> BrowserRefusal {
        BrowserRefusal(provider: provider, code: code, reason: reason)
    }
}
