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

    init(_ members: ControlMembers) throws(ControlRefusal) {
        if let token = try members.object("token", allowed: TokenOverrides.memberNames) {
            overrides = try TokenOverrides(token)
        }
        omitsIDToken = try members.flag("omitIdToken")
        omitsRefreshToken = try members.flag("omitRefreshToken")
        answer = try members.rawObject("answer")
        withoutAnswer = try members.texts("withoutAnswer")
    }

    static let memberNames = ["token", "omitIdToken", "omitRefreshToken", "answer", "withoutAnswer"]

    func apply(to answer: inout ClaimSet) {
        for (name, value) in self.answer { answer.set(name, .json(value)) }
        for name in withoutAnswer { answer.remove(name) }
    }
}
