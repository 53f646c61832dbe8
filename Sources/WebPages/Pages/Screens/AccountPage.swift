import Accounts

/// What is linked to the account of a person who is signed in.
struct AccountPage: Sendable {
    /// What has just been done.
    enum Notice: Hashable, Sendable {
        case unlinkedProvider(Provider)
        case unlinkedClient(String)
    }

    struct LinkedProvider: Sendable {
        let id: IdentityID
        let provider: Provider
        let email: String?
        let linkedAt: Timestamp
        /// False for the last way to sign in.
        let canBeUnlinked: Bool
    }

    struct LinkedClient: Sendable {
        let id: String
        let name: String
        let linkedAt: Timestamp
        let lastUsedAt: Timestamp?
    }

    let account: AccountTitle
    let hasPassword: Bool
    let providers: [LinkedProvider]
    let clients: [LinkedClient]
    /// Posts `identity=ID` or `client=ID` by the button of the entry.
    let unlink: FormTarget
    let signOut: FormTarget
    var notice: Notice?
    var error: FormError?
}

extension AccountPage {
    static let template = """
        {{#notice}}
        <p class="notice" role="status">{{message}}</p>
        {{/notice}}
        {{> error}}
        {{#isNamed}}
        <div class="box">{{> accountTitle}}</div>
        {{/isNamed}}
        <h2>{{text.waysToSignIn}}</h2>
        <ul class="rows">
        {{#providers}}
        <li><span class="name">{{{provider}}}</span>\
        {{#linkedEmail}}<span class="detail">{{{linkedEmail}}}</span>{{/linkedEmail}}\
        {{#linked}}<span class="detail">{{text.linkedOn}}</span>{{/linked}}
        {{#canBeUnlinked}}
        <form method="post" action="{{{action}}}">{{> csrf}}\
        <button name="identity" value="{{{id}}}">{{text.unlinkProvider}}</button></form>
        {{/canBeUnlinked}}
        {{^canBeUnlinked}}
        <span class="detail">{{text.onlyWay}}</span>
        {{/canBeUnlinked}}
        </li>
        {{/providers}}
        {{#hasPassword}}
        <li><span class="name">{{text.password}}</span><span class="detail">{{text.passwordIsSet}}</span></li>
        {{/hasPassword}}
        {{#hasNoWay}}
        <li>{{text.noWays}}</li>
        {{/hasNoWay}}
        </ul>
        {{#hasProviders}}
        <p class="hint">{{text.unlinkHint}}</p>
        {{/hasProviders}}
        {{#hasClients}}
        <h2>{{text.linkedClients}}</h2>
        <ul class="rows">
        {{#clients}}
        <li><span class="name">{{{client}}}</span>\
        {{#linked}}<span class="detail">{{text.linkedOn}}</span>{{/linked}}\
        {{#lastUsed}}<span class="detail">{{text.lastUsedOn}}</span>{{/lastUsed}}
        <form method="post" action="{{{action}}}">{{> csrf}}\
        <button name="client" value="{{{id}}}">{{text.unlinkClient}}</button></form></li>
        {{/clients}}
        </ul>
        {{/hasClients}}
        {{#signOut}}
        <form class="last" method="post" action="{{{action}}}">{{> csrf}}<button class="quiet">{{text.signOut}}</button></form>
        {{/signOut}}
        """

    func view(in localization: Localization) -> PageView {
        var view = PageView(.account, localization[.accountTitle], error: error)
        switch notice {
        case .unlinkedProvider(let provider):
            view["notice"] = ["provider": HTMLText(provider.brand), "message": localization[.unlinkedProvider]]
        case .unlinkedClient(let name):
            view["notice"] = ["client": HTMLText(name).isolated, "message": localization[.unlinkedClient]]
        case nil:
            break
        }
        view["isNamed"] = account.displayName != nil || account.email != nil
        view.show(account)
        view["providers"] = providers.map { $0.value(in: localization) }
        view["hasProviders"] = providers.contains(where: \.canBeUnlinked)
        view["hasPassword"] = hasPassword
        view["hasNoWay"] = providers.isEmpty && !hasPassword
        view["clients"] = clients.map { $0.value(in: localization) }
        view["hasClients"] = !clients.isEmpty
        view["signOut"] = signOut.value
        view.values.merge(unlink.value) { $1 }
        return view
    }
}

extension AccountPage.LinkedProvider {
    fileprivate func value(in localization: Localization) -> [String: Any] {
        var value: [String: Any] = [
            "id": HTMLText(id.description), "provider": HTMLText(provider.brand), "canBeUnlinked": canBeUnlinked,
            "linked": ["date": HTMLText(localization.date(linkedAt))],
        ]
        value["linkedEmail"] = email.map { HTMLText($0).isolated }
        return value
    }
}

extension AccountPage.LinkedClient {
    fileprivate func value(in localization: Localization) -> [String: Any] {
        var value: [String: Any] = [
            "id": HTMLText(id), "client": HTMLText(name).isolated,
            "linked": ["date": HTMLText(localization.date(linkedAt))],
        ]
        value["lastUsed"] = lastUsedAt.map { ["date": HTMLText(localization.date($0))] }
        return value
    }
}
