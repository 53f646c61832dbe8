import Texts

/// Address and password alone, as after a wrong one.
struct PasswordPage: WebPage {
    let purpose: SignInPurpose
    /// Posts `email`, `password`; also `to`, the screen to which a button leads with what was typed.
    let form: FormTarget
    /// Whether mail is sent: a code to sign in with, or for a new password or account.
    let offersEmailCode: Bool
    /// Whether it is offered to who is new.
    var offersRegistration = true
    var email: String?
    var error: FormError?
}

extension PasswordPage {
    static let template = """
        {{> lead}}
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> emailField}}
        {{> passwordField}}
        <button class="primary">{{text.signIn}}</button>
        {{#offersEmailCode}}
        {{> emailCodeButton}}
        {{> newHereButtons}}
        {{/offersEmailCode}}
        <p class="last"><button class="quiet" name="to" value="first" formnovalidate>{{text.back}}</button></p></form>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.signInTitle], error: error)
        view.show(purpose, in: theme)
        view.show(form)
        view["address"] = email.map { HTMLText($0) }
        view["offersEmailCode"] = offersEmailCode
        view["offersRegistration"] = offersRegistration
        return view
    }
}
