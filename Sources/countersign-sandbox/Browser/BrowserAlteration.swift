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

    init(_ members: ControlMembers, path: String) throws(ControlRefusal) {
        switch path {
        case BrowserProvider.apple.path: break
        case BrowserProvider.google.path:
            guard members.raw("token") == nil else {
                throw .invalid("Google's answer to a browser has no token; exchange.token is that of the exchange.")
            }
        default:
            throw .invalid(
                "The path of altered is \(BrowserProvider.apple.path) or \(BrowserProvider.google.path).")
        }
        if let token = try members.object("token", allowed: TokenOverrides.memberNames) {
            overrides = try TokenOverrides(token)
        }
        if let plan = try members.object("exchange", allowed: ExchangePlan.memberNames) {
            exchange = try ExchangePlan(plan)
        }
        parameters = try members.textObject("parameters")
        withoutParameters = try members.texts("withoutParameters")
        repeatedParameters = try members.texts("repeatedParameters")
    }
}
