import Accounts
import Texts

/// What a client of the OAuth server gets to know, and of whom.
struct ConsentPage: WebPage {
    enum Scope: Hashable, Sendable {
        case profile
        case email
        /// Any other: the operator's sentence, in the page's language, or in English where there is none in that.
        case sentence(String, isEnglish: Bool = false)
    }

    let client: String
    let account: AccountTitle
    /// Signs out of this account and offers the chooser.
    let otherAccount: FormTarget
    let scopes: [Scope]
    /// The client's own privacy policy, where one is known.
    let clientPrivacyURL: String?
    /// Posts `consent=allow` or `consent=deny`.
    let form: FormTarget
}

/// An account as it is named to its own owner.
struct AccountTitle: Hashable, Sendable {
    let displayName: String?
    let email: String?
}

extension AccountTitle {
    init(_ account: Account) { self.init(displayName: account.displayName?.text, email: account.email?.text) }

    /// With its address masked, as another person may be at this browser.
    init(masked account: Account) { self.init(displayName: account.displayName?.text, email: account.email?.masked) }
}

extension ConsentPage {
    static let template = """
        <div class="box"><p>{{text.consentAccount}}</p>
        {{> accountTitle}}
        {{#otherAccount}}
        <form method="post" action="{{{action}}}">{{> csrf}}<button>{{text.useAnotherAccount}}</button></form>
        {{/otherAccount}}
        </div>
        {{#hasScopes}}
        <h2 id="scopes">{{text.consentScopes}}</h2>
        <ul class="scopes" aria-labelledby="scopes">
        {{#scopes}}
        <li{{#isEnglish}} lang="en"{{/isEnglish}}>{{sentence}}{{{words}}}</li>
        {{/scopes}}
        </ul>
        {{/hasScopes}}
        <p class="lead">{{text.consentEnd}}</p>
        {{#clientPrivacy}}
        <p><a href="{{{clientPrivacy}}}">{{text.clientPrivacy}}</a></p>
        {{/clientPrivacy}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        <button class="primary" name="consent" value="allow">{{text.allow}}</button>
        <button name="consent" value="deny">{{text.deny}}</button></form>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.consentTitle])
        view.names["client"] = client
        view.show(account)
        view["otherAccount"] = otherAccount.value
        view["hasScopes"] = !scopes.isEmpty
        view["scopes"] = scopes.map { $0.value(in: localization) }
        view["clientPrivacy"] = clientPrivacyURL.map { HTMLText($0) }
        view.show(form)
        return view
    }
}

extension ConsentPage.Scope {
    fileprivate func value(in localization: Localization) -> [String: Any] {
        switch self {
        case .profile: ["sentence": localization[.scopeProfile]]
        case .email: ["sentence": localization[.scopeEmail]]
        case .sentence(let words, let isEnglish): ["words": HTMLText(words).isolated, "isEnglish": isEnglish]
        }
    }
}
