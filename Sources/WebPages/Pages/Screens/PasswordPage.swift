/// Address and password alone, as after a wrong one.
package struct PasswordPage: Sendable {
    package let purpose: SignInPurpose
    /// Posts `email`, `password`.
    package let form: FormTarget
    package let emailCodeLink: String?
    /// The chooser.
    package let backLink: String
    package let email: String?
    package let error: FormError?

    package init(
        purpose: SignInPurpose, form: FormTarget, emailCodeLink: String?, backLink: String, email: String? = nil,
        error: FormError? = nil
    ) {
        self.purpose = purpose
        self.form = form
        self.emailCodeLink = emailCodeLink
        self.backLink = backLink
        self.email = email
        self.error = error
    }
}

extension PasswordPage {
    static let template = """
        {{> lead}}
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> emailField}}
        {{> passwordField}}
        <button class="primary">{{text.signIn}}</button></form>
        {{#emailCodeLink}}
        <a class="button" href="{{{emailCodeLink}}}">{{text.emailMeACode}}</a>
        {{/emailCodeLink}}
        <p class="last"><a class="button quiet" href="{{{backLink}}}">{{text.back}}</a></p>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(.password, localization[.signInTitle], error: error)
        view.show(purpose, in: theme)
        view.values.merge(form.value) { $1 }
        view["address"] = email.map { HTMLText($0) }
        view["emailCodeLink"] = emailCodeLink.map { HTMLText($0) }
        view["backLink"] = HTMLText(backLink)
        return view
    }
}
