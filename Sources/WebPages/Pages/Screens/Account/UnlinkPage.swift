import Accounts
import Texts

/// The question before something is unlinked from the person's account.
struct UnlinkPage: WebPage {
    enum Subject: Sendable {
        /// - Parameter opensSession: whether the person is signed in by it at this browser.
        case provider(IdentityID, Provider, email: String?, opensSession: Bool)
        /// A client of the OAuth server: its id and its name.
        case client(String, name: String)
    }

    let subject: Subject
    /// With the address masked.
    let account: AccountTitle
    /// Posts `identity=ID` or `client=ID` by its button.
    let form: FormTarget
    let cancelLink: String
    var isOfOtherAccount = false
}

extension UnlinkPage {
    static let template = """
        {{> otherAccount}}
        {{#isNamed}}
        <div class="box">{{> accountTitle}}</div>
        {{/isNamed}}
        {{#linkedEmail}}<p><span class="detail">{{{linkedEmail}}}</span></p>{{/linkedEmail}}
        <p class="lead">{{lead}}</p>
        {{#signsOut}}
        <p class="lead">{{text.unlinkSignsOut}}</p>
        {{/signsOut}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        <button class="primary" name="{{{field}}}" value="{{{id}}}">{{act}}</button></form>
        {{> backToAccount}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view: PageView
        switch subject {
        case .provider(let id, let provider, let email, let opensSession):
            view = PageView(localization[.unlinkProviderTitle])
            view.names["provider"] = provider.brand
            view["linkedEmail"] = email.map { HTMLText($0).isolated }
            view["lead"] = localization[.unlinkProviderLead]
            view["act"] = localization[.unlinkProvider]
            view["signsOut"] = opensSession
            view["field"] = HTMLText("identity")
            view["id"] = HTMLText(id.description)
        case .client(let id, let name):
            view = PageView(localization[.unlinkClientTitle])
            view.names["client"] = name
            view["lead"] = localization[.unlinkClientLead]
            view["act"] = localization[.unlinkClient]
            view["field"] = HTMLText("client")
            view["id"] = HTMLText(id)
        }
        view.showMasked(account)
        view.showAccountForm(form, cancelLink: cancelLink, isOfOtherAccount: isOfOtherAccount)
        return view
    }
}
