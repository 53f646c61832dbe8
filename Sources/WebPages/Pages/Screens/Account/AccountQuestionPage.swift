import Accounts
import Texts

/// What a person comes back to after another sign-in, before a provider is linked or their data goes to them.
struct AccountQuestionPage: WebPage {
    enum Subject: Sendable {
        case link(Provider)
        case export
    }

    let subject: Subject
    let account: AccountTitle
    /// Posts nothing.
    let form: FormTarget
    let cancelLink: String
    var isOfOtherAccount = false
    var error: FormError?
}

extension AccountQuestionPage {
    static let template = """
        {{> otherAccount}}
        {{> error}}
        {{#isNamed}}
        <div class="box">{{> accountTitle}}</div>
        {{/isNamed}}
        <p class="lead">{{lead}}</p>
        <form method="post" action="{{{action}}}">{{> csrf}}<button class="primary">{{act}}</button></form>
        {{> backToAccount}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view: PageView
        switch subject {
        case .link(let provider):
            view = PageView(localization[.linkProvider], error: error)
            view.names["provider"] = provider.brand
            view["lead"] = localization[.linkProviderLead]
            view["act"] = localization[.linkProvider]
        case .export:
            view = PageView(localization[.exportData], error: error)
            view["lead"] = localization[.exportLead]
            view["act"] = localization[.download]
        }
        view.showMasked(account)
        view.showAccountForm(form, cancelLink: cancelLink, isOfOtherAccount: isOfOtherAccount)
        return view
    }
}
