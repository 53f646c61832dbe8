import Accounts
import Mustache

/// A page as its template takes it.
struct PageView {
    /// The `h1`, and the page's title.
    let heading: MustacheTemplate
    var error: FormError?
    /// The field that has the focus at first, where no error moves it.
    var firstField: FormField?
    /// What the placeholders of the texts stand for. In the body each is isolated, in the title it is bare.
    var names: [String: String] = [:]
    /// The values of the template: ``HTMLText``, `Bool`, texts, and lists and dictionaries of these. A value that is
    /// missing has its section left out.
    var values: [String: Any] = [:]

    init(_ heading: MustacheTemplate, error: FormError? = nil) {
        self.heading = heading
        self.error = error
    }

    /// Sets a value of the template; `nil` leaves it out.
    subscript(name: String) -> Any? {
        get { values[name] }
        set { values[name] = newValue }
    }

    mutating func show(_ purpose: SignInPurpose, in theme: PageTheme) {
        switch purpose {
        case .app(let name):
            names["app"] = name
        case .account:
            names["app"] = theme.name
        case .client(let name):
            names["app"] = theme.name
            names["client"] = name
            values["continuesToClient"] = true
        }
    }

    /// Shows where the page's own form posts.
    mutating func show(_ form: FormTarget) { values.merge(form.value) { $1 } }

    /// Shows a form about the account, and the way back to its page.
    mutating func showAccountForm(_ form: FormTarget, cancelLink: String, isOfOtherAccount: Bool) {
        values["isOtherAccount"] = isOfOtherAccount
        values["cancelLink"] = HTMLText(cancelLink)
        show(form)
    }

    /// - Parameter email: what stands in the field for the address in the first step.
    mutating func show(_ step: CodeStep, email: String?) {
        switch step {
        case .address:
            values["address"] = email.map { HTMLText($0) }
            values["sent"] = false
        case .code(let email, let isAgain):
            names["email"] = email
            values["address"] = HTMLText(email)
            values["sent"] = true
            values["isAgain"] = isAgain
            firstField = .code
        }
    }

    mutating func show(_ account: AccountTitle) {
        values["displayName"] = account.displayName.map { HTMLText($0).isolated }
        values["address"] = account.email.map { HTMLText($0).isolated }
    }

    /// Shows the account's name and its masked address, as the reader may be another person.
    mutating func showMasked(_ account: AccountTitle) {
        show(account)
        values["isNamed"] = account.displayName != nil || account.email != nil
    }

    mutating func show(_ source: ProvenSource, email: String?) {
        switch source {
        case .apple: names["provider"] = Provider.apple.brand
        case .google: names["provider"] = Provider.google.brand
        case .mailbox: values["isMailbox"] = true
        }
        names["email"] = email
        values["hasEmail"] = email != nil
    }

    mutating func show(_ holder: AccountHolder?, in localization: Localization) {
        guard let holder, !holder.identities.isEmpty || holder.createdAt != nil else { return }
        var value: [String: Any] = ["identities": holder.identities.map { $0.value(in: localization) }]
        value["hasIdentities"] = !holder.identities.isEmpty
        value["since"] = holder.createdAt.map { ["date": HTMLText(localization.date($0))] }
        values["holder"] = value
    }
}

extension HeldIdentity {
    func value(in localization: Localization) -> [String: Any] {
        var value: [String: Any] = ["provider": HTMLText(provider.brand)]
        value["maskedEmail"] = maskedEmail.map { HTMLText($0).isolated }
        value["linked"] = linkedAt.map { ["date": HTMLText(localization.date($0))] }
        return value
    }
}

extension FormTarget {
    var value: [String: Any] {
        let fields = hidden.sorted { $0.key < $1.key }
        return [
            "action": HTMLText(action), "csrf": HTMLText(csrf),
            // Also where there is none, or a form inside of another's section would have those.
            "hidden": fields.map { ["name": HTMLText($0.key), "value": HTMLText($0.value)] },
        ]
    }
}

extension Provider {
    /// The provider's name, the same in every language.
    var brand: String {
        switch self {
        case .apple: "Apple"
        case .google: "Google"
        }
    }
}
