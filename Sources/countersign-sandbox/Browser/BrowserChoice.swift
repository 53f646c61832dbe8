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
    var hidesEmail: Bool?
    var givenName: String?
    var familyName: String?

    init(_ form: EndpointForm, at provider: ProviderName) throws(BrowserRefusal) {
        func refusal(_ reason: String) -> BrowserRefusal {
            BrowserRefusal(provider: provider, code: .invalidRequest, reason: reason)
        }
        let known = ["person", "action"] + (provider == .apple ? ["hideEmail", "givenName", "familyName"] : [])
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
    }

    /// The members are the form's fields.
    init(_ members: ControlMembers, at provider: ProviderName) {
        let action = members.optionalChoice("action", of: Action.self) ?? .proceed
        self.action = action
        person = action == .cancel ? members.optionalText("person") : members.text("person")
        guard provider == .apple else { return }
        hidesEmail = members.optionalFlag("hideEmail")
        givenName = members.optionalText("givenName")
        familyName = members.optionalText("familyName")
    }
}
