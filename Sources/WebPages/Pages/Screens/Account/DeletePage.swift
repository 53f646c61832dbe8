import Accounts
import Texts

/// The question before the account is deleted: whose it is, and what goes with it.
struct DeletePage: WebPage {
    /// With the address masked.
    let account: AccountTitle
    /// The providers whose authorization is revoked.
    let providers: [Provider]
    /// The names of the clients that lose their access.
    let clients: [String]
    /// Posts nothing.
    let form: FormTarget
    let cancelLink: String
    var isOfOtherAccount = false
}

extension DeletePage {
    static let template = """
        {{> otherAccount}}
        {{#isNamed}}
        <div class="box">{{> accountTitle}}</div>
        {{/isNamed}}
        <p class="lead">{{text.deleteLead}}</p>
        <ul class="scopes">
        <li>{{text.deleteData}}</li>
        <li>{{text.deleteDevices}}</li>
        {{#providers}}
        <li>{{text.deleteProvider}}</li>
        {{/providers}}
        {{#clients}}
        <li>{{text.deleteClient}}</li>
        {{/clients}}
        </ul>
        <form method="post" action="{{{action}}}">{{> csrf}}\
        <button class="danger">{{text.deleteMyAccount}}</button></form>
        {{> backToAccount}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.deleteTitle])
        view.showMasked(account)
        view["providers"] = providers.map { ["provider": HTMLText($0.brand)] }
        view["clients"] = clients.map { ["client": HTMLText($0).isolated] }
        view.showAccountForm(form, cancelLink: cancelLink, isOfOtherAccount: isOfOtherAccount)
        return view
    }
}

/// The account is deleted.
struct DeletedPage: WebPage {}

extension DeletedPage {
    static let template = """
        <p class="lead" role="status">{{text.deletedLead}}</p>
        <p class="lead">{{text.deletedRevocations}}</p>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView { PageView(localization[.deletedTitle]) }
}
