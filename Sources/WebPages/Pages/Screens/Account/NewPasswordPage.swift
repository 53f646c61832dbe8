import Texts

/// Another password for the account, or the first one.
struct NewPasswordPage: WebPage {
    /// Posts `newPassword`, and `currentPassword` where there is one.
    let form: FormTarget
    let cancelLink: String
    let hasPassword: Bool
    /// The account's address, for password managers.
    let email: String?
    var isOfOtherAccount = false
    var error: FormError?
}

extension NewPasswordPage {
    static let template = """
        {{> otherAccount}}
        <p class="lead">{{text.passwordSignsOut}}</p>
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> passwordOwner}}
        {{#hasPassword}}
        <div class="field"><label for="currentPassword">{{text.currentPassword}}</label>
        <input id="currentPassword" name="currentPassword" type="password" autocomplete="current-password" dir="ltr" required\
        {{#invalid.currentPassword}} aria-invalid="true" aria-describedby="error"{{/invalid.currentPassword}}\
        {{#focus.currentPassword}} autofocus{{/focus.currentPassword}}></div>
        {{/hasPassword}}
        {{> newPasswordField}}
        <button class="primary">{{text.save}}</button></form>
        {{> backToAccount}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[hasPassword ? .changePassword : .setPassword], error: error)
        view["hasPassword"] = hasPassword
        view["address"] = email.map { HTMLText($0) }
        view.showAccountForm(form, cancelLink: cancelLink, isOfOtherAccount: isOfOtherAccount)
        return view
    }
}
