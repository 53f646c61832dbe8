/// Deviations of one authorization from what the provider would answer: the fault `altered`.
struct BrowserAlteration: Sendable {
    /// Of Apple's ID token in the answer; Google's answer has none.
    var overrides = TokenOverrides.none
    var exchange = ExchangePlan.none
    var parameters: [(name: String, value: String)] = []
    var withoutParameters: [String] = []
    var repeatedParameters: [String] = []

    static let none = BrowserAlteration()

    static let memberNames = ["token", "exchange", "parameters", "withoutParameters", "repeatedParameters"]

    private init() {}

    init(_ members: ControlMembers, path: String) {
        let (apple, google) = (ProviderName.apple.pagePath, ProviderName.google.pagePath)
        if path != apple, path != google { members.refuse("The path of altered is \(apple) or \(google).") }
        if path == google, members.raw("token") != nil {
            members.refuse("Google's answer to a browser has no token; exchange.token is that of the exchange.")
        }
        overrides = members.object("token", TokenOverrides.init) ?? .none
        exchange = members.object("exchange", ExchangePlan.init) ?? .none
        parameters = members.textObject("parameters")
        withoutParameters = members.texts("withoutParameters") ?? []
        repeatedParameters = members.texts("repeatedParameters") ?? []
    }
}
