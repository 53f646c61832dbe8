/// What a person does on an authorization page: the fields of its form, or a control request in place of a click.
struct BrowserChoice: Sendable {
    enum Action: String, CaseIterable, Sendable {
        case proceed = "continue"
        case cancel
    }

    /// Whom the control API knows by this name; nil only where the person cancels.
    let person: String?
    /// nil when a person is chosen and has yet to consent.
    let action: Action?
    let hidesEmail: Bool?
    let givenName: String?
    let familyName: String?

    /// The fields that a provider's page has.
    static func fields(of provider: BrowserProvider) -> [String] {
        switch provider {
        case .apple: ["person", "action", "hideEmail", "givenName", "familyName"]
        case .google: ["person", "action"]
        }
    }

    init(_ form: EndpointForm, at provider: BrowserProvider) throws(BrowserRefusal) {
        func refusal(_ reason: String) -> BrowserRefusal {
            BrowserRefusal(provider: provider, code: .invalidRequest, reason: reason)
        }
        let known = Self.fields(of: provider)
        for name in form.names where !known.contains(name) {
            throw refusal("The form has no field \(name), only \(known.joined(separator: ", ")).")
        }
        action = form["action"].flatMap(Action.init)
        guard form["action"] == nil || action != nil else { throw refusal("action is neither continue nor cancel.") }
        hidesEmail = form["hideEmail"].flatMap { $0 == "true" ? true : $0 == "false" ? false : nil }
        guard form["hideEmail"] == nil || hidesEmail != nil else { throw refusal("hideEmail is true or false.") }
        person = form["person"]
        guard person != nil || action == .cancel else { throw refusal("person is missing.") }
        givenName = form["givenName"]
        familyName = form["familyName"]
    }

    /// A person who goes on without any choice.
    init(person: String) {
        self.person = person
        action = .proceed
        hidesEmail = nil
        givenName = nil
        familyName = nil
    }

    init(_ members: ControlMembers) throws(ControlRefusal) {
        let action = try members.choice("action", of: Action.self) ?? .proceed
        self.action = action
        person = action == .cancel ? try members.optionalText("person") : try members.text("person")
        hidesEmail = try members.optionalFlag("hideEmail")
        givenName = try members.optionalText("givenName")
        familyName = try members.optionalText("familyName")
    }
}
