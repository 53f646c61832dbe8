import Texts

/// The client asks for an address, the account has none that is confirmed, and no mail is sent that could confirm one.
/// Where it has one that isn't, the page shows it.
struct MissingEmailPage: WebPage {
    let purpose: SignInPurpose
    let account: AccountTitle
    /// Signs out of this account and offers the chooser.
    let otherAccount: FormTarget
    /// Posts `consent=deny`: the client hears that nothing was linked.
    let form: FormTarget
}

extension MissingEmailPage {
    static let template = """
        <p class="lead">{{#hasEmail}}{{text.unconfirmedEmailLead}}{{/hasEmail}}\
        {{^hasEmail}}{{text.missingEmailLead}}{{/hasEmail}}</p>
        <form method="post" action="{{{action}}}">{{> csrf}}
        <button class="primary" name="consent" value="deny">{{text.backToClient}}</button></form>
        <div class="box"><p>{{text.consentAccount}}</p>
        {{> accountTitle}}
        {{#otherAccount}}
        <form method="post" action="{{{action}}}">{{> csrf}}<button>{{text.useAnotherAccount}}</button></form>
        {{/otherAccount}}
        </div>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        let hasEmail = account.email != nil
        var view = PageView(localization[hasEmail ? .unconfirmedEmailTitle : .missingEmailTitle])
        view["hasEmail"] = hasEmail
        view.show(purpose, in: theme)
        view.show(account)
        view["otherAccount"] = otherAccount.value
        view.show(form)
        return view
    }
}
