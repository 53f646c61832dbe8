import Texts

/// An account by an address and a password, for who is new.
struct RegisterPage: WebPage {
    let purpose: SignInPurpose
    /// Posts `email`, `password`, `name` (may be empty); also `to`, the screen to which a button leads with what was typed.
    let form: FormTarget
    var email: String?
    var name: String?
    var error: FormError?
}

extension RegisterPage {
    static let template = """
        {{> lead}}
        <p class="lead">{{text.registerLead}}</p>
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> emailField}}
        <div class="field"><label for="password">{{text.password}}</label>
        <input id="password" name="password" type="password" autocomplete="new-password" dir="ltr" required \
        aria-describedby="{{#invalid.password}}error {{/invalid.password}}password-hint"\
        {{#invalid.password}} aria-invalid="true"{{/invalid.password}}\
        {{#focus.password}} autofocus{{/focus.password}}>
        <p class="hint" id="password-hint">{{text.passwordRule}}</p></div>
        <div class="field"><label for="name">{{text.displayName}}</label>
        <input id="name" name="name" type="text" autocomplete="name" dir="auto" maxlength="100" value="{{{typedName}}}"></div>
        <button class="primary">{{text.createAccount}}</button>
        <p class="last"><button class="quiet" name="to" value="first" formnovalidate>{{text.back}}</button></p></form>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.createTitle], error: error)
        view.show(purpose, in: theme)
        view.show(form)
        view["address"] = email.map { HTMLText($0) }
        view["typedName"] = name.map { HTMLText($0) }
        return view
    }
}
