import Accounts
import Texts

/// The account of a person who is signed in: all of it, with a way to change each part.
struct AccountPage: WebPage {
    /// What has just been done.
    enum Notice: Hashable, Sendable {
        case linkedProvider(Provider)
        case unlinkedProvider(Provider)
        case unlinkedClient(String)
        case renamed
        case emailChanged
        /// What support was about to give the account is stopped.
        case addressKept
        case passwordChanged
        case deviceEnded
        case othersEnded
        /// The person has signed in to another account than the one that they were about to change.
        case otherAccount
    }

    struct Address: Sendable {
        let text: String
        /// Whether it is proven that the person reads its mailbox, as by a mailed code.
        let isConfirmed: Bool
    }

    /// Another address that support is about to give the account.
    struct Replacement: Sendable {
        /// Masked.
        let email: String
        let dueAt: Timestamp
        /// Posts nothing.
        let keep: FormTarget
    }

    enum Password: Sendable {
        case isSet
        case isNotSet
        /// There is no address to sign in with.
        case isImpossible
    }

    struct LinkedProvider: Sendable {
        let id: IdentityID
        let provider: Provider
        let email: String?
        let linkedAt: Timestamp
        /// False for the last way to sign in.
        let canBeUnlinked: Bool
        /// Whether the provider has disabled the person's account there.
        var isBlocked = false
        /// Whether the provider wants the person to change their password there.
        var wantsNewPassword = false
    }

    struct Device: Sendable {
        let id: SessionID
        /// What the app has said; `nil` for a browser, see ``isBrowser``.
        let name: String?
        let isBrowser: Bool
        let isThisOne: Bool
        let lastUsedAt: Timestamp
    }

    struct LinkedClient: Sendable {
        let id: String
        let name: String
        let linkedAt: Timestamp
        let lastUsedAt: Timestamp?
        /// Whether the operator has disabled it.
        var isDisabled = false
    }

    let displayName: String?
    let address: Address?
    /// When the reader of its mailbox took the address for another account.
    var addressTakenAt: Timestamp?
    var replacement: Replacement?
    /// Whether mail is sent, so that an address can be proven.
    let canChangeAddress: Bool
    let password: Password
    let providers: [LinkedProvider]
    /// The providers that could open the account too; the form of each posts nothing.
    let linkable: [(provider: Provider, form: FormTarget)]
    /// The first ones; this one is the first of them.
    let devices: [Device]
    /// How many more there are.
    let furtherDevices: Int
    let clients: [LinkedClient]
    /// Posts `identity=ID` or `client=ID` by the button of the entry.
    let unlink: FormTarget
    /// Posts `session=ID` or `others=1`.
    let endDevice: FormTarget
    let signOut: FormTarget
    let signOutEverywhere: FormTarget
    /// That of the pages to which its links lead, with `?`.
    var query = ""
    var notice: Notice?
    var error: FormError?
}

extension AccountPage {
    static let template = """
        {{#notice}}
        <p class="notice" role="status">{{message}}</p>
        {{/notice}}
        {{> error}}
        {{#replacement}}
        <div class="box"><p>{{text.replacementPending}}</p>
        <form method="post" action="{{{action}}}">{{> csrf}}<button>{{text.stopReplacement}}</button></form></div>
        {{/replacement}}
        <ul class="rows">
        <li><span class="name">{{text.name}}</span>\
        <span class="detail">{{#displayName}}{{{displayName}}}{{/displayName}}{{^displayName}}{{text.noName}}{{/displayName}}</span>
        <a class="button" href="/web/account/name{{{query}}}">{{text.changeName}}</a></li>
        <li><span class="name">{{text.email}}</span>\
        <span class="detail">{{#address}}{{{address}}}{{/address}}{{^address}}{{text.noAddress}}{{/address}}</span>\
        {{#confirmation}}<span class="detail">{{message}}</span>{{/confirmation}}\
        {{#taken}}<span class="detail">{{text.addressTaken}}</span>{{/taken}}
        {{#canChangeAddress}}<a class="button" href="/web/account/email{{{query}}}">{{changeAddress}}</a>{{/canChangeAddress}}</li>
        </ul>
        <h2>{{text.waysToSignIn}}</h2>
        <ul class="rows">
        {{#providers}}
        <li><span class="name">{{{provider}}}</span>\
        {{#linkedEmail}}<span class="detail">{{{linkedEmail}}}</span>{{/linkedEmail}}\
        {{#linked}}<span class="detail">{{text.linkedOn}}</span>{{/linked}}\
        {{#isBlocked}}<span class="detail">{{text.providerBlocked}}</span>{{/isBlocked}}\
        {{#wantsNewPassword}}<span class="detail">{{text.providerWantsNewPassword}}</span>{{/wantsNewPassword}}
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
        <li><span class="name">{{text.password}}</span><span class="detail">{{text.passwordIsSet}}</span>
        <a class="button" href="/web/account/password{{{query}}}">{{text.changePassword}}</a></li>
        {{/hasPassword}}
        {{#hasNoWay}}
        <li>{{text.noWays}}</li>
        {{/hasNoWay}}
        </ul>
        {{#hasProviders}}
        <p class="hint">{{text.unlinkHint}}</p>
        {{/hasProviders}}
        <div class="further">
        {{#linkable}}
        <form method="post" action="{{{action}}}">{{> csrf}}<button>{{text.linkProvider}}</button></form>
        {{/linkable}}
        {{#canSetPassword}}
        <a class="button" href="/web/account/password{{{query}}}">{{text.setPassword}}</a>
        {{/canSetPassword}}
        </div>
        <h2>{{text.devices}}</h2>
        <ul class="rows">
        {{#devices}}
        <li><span class="name" id="device-{{{id}}}">{{#deviceName}}{{{deviceName}}}{{/deviceName}}\
        {{^deviceName}}{{#isBrowser}}{{text.browser}}{{/isBrowser}}{{^isBrowser}}{{text.device}}{{/isBrowser}}{{/deviceName}}</span>\
        {{#isThisOne}}<span class="detail">{{text.thisDevice}}</span>{{/isThisOne}}\
        {{#lastUsed}}<span class="detail">{{text.lastUsedOn}}</span>{{/lastUsed}}
        {{^isThisOne}}
        <form method="post" action="{{{action}}}">{{> csrf}}\
        <button name="session" value="{{{id}}}" aria-describedby="device-{{{id}}}">{{text.endDevice}}</button></form>
        {{/isThisOne}}
        </li>
        {{/devices}}
        </ul>
        {{#further}}
        <p class="hint">{{text.furtherDevices}}</p>
        {{/further}}
        {{#endOthers}}
        <div class="further"><form method="post" action="{{{action}}}">{{> csrf}}\
        <button name="others" value="1">{{text.endOthers}}</button></form></div>
        {{/endOthers}}
        {{#hasClients}}
        <h2>{{text.linkedClients}}</h2>
        <ul class="rows">
        {{#clients}}
        <li><span class="name">{{{client}}}</span>\
        {{#linked}}<span class="detail">{{text.linkedOn}}</span>{{/linked}}\
        {{#lastUsed}}<span class="detail">{{text.lastUsedOn}}</span>{{/lastUsed}}\
        {{#isDisabled}}<span class="detail">{{text.clientDisabled}}</span>{{/isDisabled}}
        <form method="post" action="{{{action}}}">{{> csrf}}\
        <button name="client" value="{{{id}}}">{{text.unlinkClient}}</button></form></li>
        {{/clients}}
        </ul>
        {{/hasClients}}
        <h2>{{text.yourData}}</h2>
        <a class="button" href="/web/account/export{{{query}}}">{{text.exportData}}</a>
        <a class="button" href="/web/account/delete{{{query}}}">{{text.deleteAccount}}</a>
        {{#signOut}}
        <form class="last" method="post" action="{{{action}}}">{{> csrf}}<button class="quiet">{{text.signOut}}</button></form>
        {{/signOut}}
        {{#signOutEverywhere}}
        <form method="post" action="{{{action}}}">{{> csrf}}\
        <button class="quiet"{{#hasClients}} aria-describedby="unlinks"{{/hasClients}}>{{text.signOutEverywhere}}</button>\
        {{#hasClients}}<p class="hint" id="unlinks">{{text.signOutUnlinks}}</p>{{/hasClients}}</form>
        {{/signOutEverywhere}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.accountTitle], error: error)
        view["query"] = HTMLText(query)
        view["notice"] = notice?.value(in: localization)
        view["displayName"] = displayName.map { HTMLText($0).isolated }
        view["address"] = address.map { HTMLText($0.text).isolated }
        view["confirmation"] = address.map {
            ["message": localization[$0.isConfirmed ? .addressConfirmed : .addressUnconfirmed]]
        }
        view["changeAddress"] = localization[address?.isConfirmed == true ? .changeConfirmedAddress : .changeAddress]
        view["taken"] = addressTakenAt.map { ["date": HTMLText(localization.date($0))] }
        view["replacement"] = replacement?.value(in: localization)
        view["canChangeAddress"] = canChangeAddress
        view["providers"] = providers.map { $0.value(in: localization, unlink) }
        view["hasProviders"] = providers.contains(where: \.canBeUnlinked)
        let hasPassword = if case .isSet = password { true } else { false }
        view["hasPassword"] = hasPassword
        view["canSetPassword"] = if case .isNotSet = password { true } else { false }
        view["hasNoWay"] = providers.isEmpty && !hasPassword
        view["linkable"] = linkable.map { entry in
            entry.form.value.merging(["provider": HTMLText(entry.provider.brand)]) { $1 }
        }
        view["devices"] = devices.map { $0.value(in: localization, endDevice) }
        view["further"] = furtherDevices == 0 ? nil : ["count": HTMLText(String(furtherDevices))]
        view["endOthers"] = devices.count + furtherDevices > 1 ? endDevice.value : nil
        view["clients"] = clients.map { $0.value(in: localization, unlink) }
        view["hasClients"] = !clients.isEmpty
        view["signOut"] = signOut.value
        view["signOutEverywhere"] = signOutEverywhere.value
        return view
    }
}

extension AccountPage.Notice {
    fileprivate func value(in localization: Localization) -> [String: Any] {
        switch self {
        case .linkedProvider(let provider):
            ["provider": HTMLText(provider.brand), "message": localization[.linkedProvider]]
        case .unlinkedProvider(let provider):
            ["provider": HTMLText(provider.brand), "message": localization[.unlinkedProvider]]
        case .unlinkedClient(let name):
            ["client": HTMLText(name).isolated, "message": localization[.unlinkedClient]]
        case .renamed: ["message": localization[.renamed]]
        case .emailChanged: ["message": localization[.addressChanged]]
        case .addressKept: ["message": localization[.replacementStopped]]
        case .passwordChanged: ["message": localization[.passwordChanged]]
        case .deviceEnded: ["message": localization[.deviceEnded]]
        case .othersEnded: ["message": localization[.othersEnded]]
        case .otherAccount: ["message": localization[.otherAccount]]
        }
    }
}

extension AccountPage.Replacement {
    fileprivate func value(in localization: Localization) -> [String: Any] {
        let value: [String: Any] = [
            "email": HTMLText(email).isolated, "date": HTMLText(localization.date(dueAt)),
        ]
        return value.merging(keep.value) { $1 }
    }
}

extension AccountPage.LinkedProvider {
    fileprivate func value(in localization: Localization, _ form: FormTarget) -> [String: Any] {
        var value: [String: Any] = [
            "id": HTMLText(id.description), "provider": HTMLText(provider.brand), "canBeUnlinked": canBeUnlinked,
            "linked": ["date": HTMLText(localization.date(linkedAt))], "isBlocked": isBlocked,
            "wantsNewPassword": wantsNewPassword,
        ]
        value["linkedEmail"] = email.map { HTMLText($0).isolated }
        return value.merging(form.value) { $1 }
    }
}

extension AccountPage.Device {
    fileprivate func value(in localization: Localization, _ form: FormTarget) -> [String: Any] {
        var value: [String: Any] = [
            "id": HTMLText(id.description), "isBrowser": isBrowser, "isThisOne": isThisOne,
            "lastUsed": ["date": HTMLText(localization.date(lastUsedAt))],
        ]
        value["deviceName"] = name.map { HTMLText($0).isolated }
        return value.merging(form.value) { $1 }
    }
}

extension AccountPage.LinkedClient {
    fileprivate func value(in localization: Localization, _ form: FormTarget) -> [String: Any] {
        var value: [String: Any] = [
            "id": HTMLText(id), "client": HTMLText(name).isolated,
            "linked": ["date": HTMLText(localization.date(linkedAt))], "isDisabled": isDisabled,
        ]
        value["lastUsed"] = lastUsedAt.map { ["date": HTMLText(localization.date($0))] }
        return value.merging(form.value) { $1 }
    }
}
