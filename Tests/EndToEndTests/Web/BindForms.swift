import Testing

/// The forms of the page of *bind*, by which an account is proven.
extension Browser.Page {
    private var bindForms: [HTML.Form] { html.forms.filter { $0.path == "/web/link/bind" } }

    /// The one that takes this field.
    func bindForm(_ field: String) throws -> HTML.Form {
        try #require(bindForms.first { $0.input(field) != nil }, "\(answer.body)")
    }

    /// The one with a button of this value, such as `ticket` for *This is my account*.
    func bindForm(button value: String) throws -> HTML.Form {
        try #require(bindForms.first { $0.has(value) }, "\(answer.body)")
    }

    /// Whether there is the button *This is my account*.
    var asksForConfirmation: Bool { bindForms.contains { $0.has("ticket") } }
}

extension HTML.Form {
    fileprivate func has(_ button: String) -> Bool { buttons.contains { $0.value == button } }
}

extension World {
    /// The question that a mailed code leads to, that of the mail of this number to the address.
    func question(to email: String, by number: Int, _ browser: Browser) async throws -> Browser.Page {
        let chooser = try await browser.openAccount()
        let (page, form) = try await screen("/web/email-code", from: chooser, browser)
        let sent = try await browser.submit(form, on: page, typed: ["email": email])
        let code = try await code(number, mailedTo: email)
        return try await browser.submit("/web/email-code", on: sent, typed: ["code": code])
    }
}
