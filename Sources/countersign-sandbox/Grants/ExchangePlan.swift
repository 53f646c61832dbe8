import JSON

/// Deviations of the answer to a code from the provider's: the `exchange` member of an authorization.
struct ExchangePlan: Sendable {
    var overrides = TokenOverrides.none
    var omitsIDToken = false
    /// Whether no refresh token is made at all, so that there is none to revoke either.
    var omitsRefreshToken = false
    /// Members of the answer to set, to values of any type.
    var answer: [(name: String, value: JSONValue)] = []
    var withoutAnswer: [String] = []

    static let none = ExchangePlan()

    init() {}

    init(_ members: ControlMembers) {
        overrides = members.object("token", TokenOverrides.init) ?? .none
        omitsIDToken = members.flag("omitIdToken")
        omitsRefreshToken = members.flag("omitRefreshToken")
        answer = members.rawObject("answer")
        withoutAnswer = members.texts("withoutAnswer") ?? []
    }

    func apply(to answer: inout JSONObject) {
        for (name, value) in self.answer { answer.set(name, value) }
        for name in withoutAnswer { answer.remove(name) }
    }
}
