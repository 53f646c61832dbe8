import Texts

/// A forgotten password: first the address, then the code that was mailed there and the new password.
struct ForgotPage: WebPage {
    let purpose: SignInPurpose
    /// The second one also posts `newPassword`.
    let step: CodeStep
    /// Also posts `to`, the screen to which a button leads with what was typed.
    let form: FormTarget
    /// What stands in the field for the address in the first step.
    var email: String?
    /// What stands in that for the code: one that was typed, and not tried yet.
    var code: String?
    var error: FormError?
}

extension ForgotPage {
    static let template = """
        {{> lead}}
        <p class="lead">{{#sent}}{{text.codeSent}}{{/sent}}{{^sent}}{{text.forgotLead}}{{/sent}}</p>
        {{> codeSent}}
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{#sent}}
        {{> codeField}}
        {{> passwordOwner}}
        {{> newPasswordField}}
        <button class="primary">{{text.save}}</button></form>
        {{> anotherCode}}
        {{/sent}}
        {{^sent}}
        {{> emailField}}
        <button class="primary">{{text.sendCode}}</button>
        {{/sent}}
        <p class="last"><button class="quiet" name="to" value="first" formnovalidate>{{text.back}}</button></p></form>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.forgotTitle], error: error)
        view.show(step, email: email)
        view.show(purpose, in: theme)
        view["typedCode"] = code.map { HTMLText($0) }
        view.show(form)
        return view
    }
}
