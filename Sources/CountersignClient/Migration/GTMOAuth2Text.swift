/// The text in which GTMOAuth2 kept a session: `name=value` joined by `&`, percent-encoded.
enum GTMOAuth2Text {
    /// Split at the first `=`; the last of equal names counts; a `+` is one. GTMAppAuth leaves `%` bare, so what can't be
    /// decoded is taken as it stands.
    static func read(_ text: String) -> [String: String] {
        var values: [String: String] = [:]
        for part in text.split(separator: "&") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = sides.count > 1 ? sides[1] : ""
            values[FormText.decode(sides[0]) ?? String(sides[0])] = FormText.decode(value) ?? String(value)
        }
        return values
    }

    /// Names in the order of their bytes; what is nil or empty is left out.
    static func write(_ values: [String: String?]) -> String {
        let pairs = values.compactMap { name, value in
            value.flatMap { $0.isEmpty ? nil : (name: name, value: $0) }
        }
        return FormText.encode(pairs.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }

    /// Whether a text names anything that a session consists of besides its tokens: what a sign-out leaves.
    static func isWithoutTokens(_ text: String) -> Bool {
        let labels: Set = [
            "scope", "serviceProvider", "userID", "userEmail", "userEmailIsVerified", "email", "isVerified",
        ]
        let values = read(text)
        let tokens = [values["access_token"], values["refresh_token"]]
        return tokens.allSatisfy { ($0 ?? "").isEmpty } && !labels.isDisjoint(with: values.keys)
    }
}
