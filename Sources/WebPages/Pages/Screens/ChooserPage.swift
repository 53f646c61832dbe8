import Accounts
import Texts

/// The ways to sign in.
struct ChooserPage: WebPage {
    let purpose: SignInPurpose
    /// In order; one alone where the app asked for one.
    let providers: [ProviderButton]
    /// Posts `email`, `password`; `nil` where only a provider is offered.
    let password: FormTarget?
    /// The page that mails a code; `nil` where that isn't offered. Beside a password it is a button of that form, `to=email`,
    /// so that the address that was typed comes along.
    let emailCodeLink: String?
    /// Whether the form of the password leads to a new account, `to=register`, beside a new password, `to=forgot`.
    var offersRegistration = false
    /// `nil` where there is nothing to go back to.
    let cancel: FormTarget?
    /// What stands in the field for the address.
    var email: String?
    /// Whether the person has just set a password.
    var isPasswordReset = false
    /// What the person signs in for, where they are about to change or delete their account.
    var act: AccountAct?
    /// Whether they were signed in to it before.
    var isAgain = false
    var error: FormError?

    /// A provider's button: a form of its own.
    struct ProviderButton: Sendable {
        let provider: Provider
        let form: FormTarget
    }
}

extension ChooserPage {
    static let template = """
        {{> lead}}
        {{#act}}
        <p class="lead">{{why}}{{#isAgain}} {{text.whySignInAgain}}{{/isAgain}}</p>
        {{/act}}
        {{#isPasswordReset}}
        <p class="notice" role="status">{{text.passwordReset}}</p>
        {{/isPasswordReset}}
        {{> error}}
        {{#providers}}
        <form method="post" action="{{{action}}}">{{> csrf}}\
        <button class="provider {{{style}}}">{{{mark}}}<span>{{label}}</span></button></form>
        {{/providers}}
        {{#divided}}
        <p class="or">{{text.or}}</p>
        {{/divided}}
        {{#password}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> emailField}}
        {{> passwordField}}
        <button class="primary">{{text.signIn}}</button>
        {{#emailCodeLink}}
        {{> emailCodeButton}}
        {{> newHereButtons}}
        {{/emailCodeLink}}
        </form>
        {{/password}}
        {{^password}}
        {{#emailCodeLink}}
        <a class="button" href="{{{emailCodeLink}}}">{{text.emailMeACode}}</a>
        {{/emailCodeLink}}
        {{/password}}
        {{> cancelLast}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.signInTitle], error: error)
        view.show(purpose, in: theme)
        view["providers"] = providers.map { $0.value(in: localization, theme) }
        view["divided"] = !providers.isEmpty && (password != nil || emailCodeLink != nil)
        view["password"] = password?.value
        view["address"] = email.map { HTMLText($0) }
        view["offersRegistration"] = offersRegistration
        view["isPasswordReset"] = isPasswordReset
        if let act {
            view["act"] = ["why": localization[act.why], "isAgain": isAgain] as [String: Any]
            if case .link(let provider) = act { view.names["provider"] = provider.brand }
        }
        view["emailCodeLink"] = emailCodeLink.map { HTMLText($0) }
        view["cancel"] = cancel?.value
        return view
    }
}

extension AccountAct {
    /// Why a sign-in is asked for.
    fileprivate var why: PageText {
        switch self {
        case .rename: .whyRename
        case .changeEmail: .whyChangeAddress
        case .changePassword: .whyChangePassword
        case .link: .whyLink
        case .unlinkIdentity, .unlinkClient: .whyUnlink
        case .export: .whyExport
        case .delete: .whyDelete
        }
    }
}

extension ChooserPage.ProviderButton {
    func value(in localization: Localization, _ theme: PageTheme) -> [String: Any] {
        var value = form.value
        value["style"] = HTMLText(provider.rawValue)
        switch provider {
        case .apple:
            value["label"] = localization[.continueWithApple]
            // Human Interface Guidelines: the logo as the operator got it from Apple, as high as the button.
            value["mark"] = theme.appleLogo.map { logo in
                HTMLText(markup: #"<img src="\#(HTMLText(logo.path).markup)" alt="">"#)
            }
        case .google:
            value["label"] = localization[.continueWithGoogle]
            value["mark"] = HTMLText(markup: GoogleMark.svg)
        }
        return value
    }
}
