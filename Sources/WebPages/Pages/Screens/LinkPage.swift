import Accounts
import Texts

/// Create an account, or bind to one: the choice of a person who is not known. The first choice is the one suggested.
struct LinkPage: WebPage {
    let purpose: SignInPurpose
    let source: ProvenSource
    /// The person's own address, unless a relay.
    let email: String?
    /// Each with the page it leads to, in the order of ``LinkRequired/choices``. Where none is left, or offered, the person
    /// signs in again.
    let choices: [Choice]
    let holder: AccountHolder?
    /// Back to the chooser.
    let cancel: FormTarget
    var error: FormError?

    struct Choice: Sendable {
        let choice: LinkChoice
        let link: String
    }
}

extension LinkPage {
    static let template = """
        {{#isMailbox}}
        <p class="lead">{{text.mailboxProven}}</p>
        {{/isMailbox}}
        {{^isMailbox}}
        {{#hasEmail}}
        <p class="lead">{{text.signedInAs}}</p>
        {{/hasEmail}}
        <p class="lead">{{text.notLinkedYet}}</p>
        {{/isMailbox}}
        {{> error}}
        {{> holder}}
        {{#choices}}
        <div class="choice"><a class="button{{#suggested}} primary{{/suggested}}" href="{{{link}}}">{{label}}</a>
        {{#hint}}<p class="hint">{{message}}</p>{{/hint}}</div>
        {{/choices}}
        {{#signIn}}
        <form method="post" action="{{{action}}}">{{> csrf}}<button class="primary">{{text.signInAgain}}</button></form>
        {{/signIn}}
        {{> cancelLast}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[choices.isEmpty ? .bindTitle : .linkTitle], error: error)
        view.show(purpose, in: theme)
        view.show(source, email: email)
        view.show(holder, in: localization)
        view["choices"] = choices.enumerated().map { index, choice in
            choice.value(in: localization, source, isSuggested: index == 0)
        }
        view[choices.isEmpty ? "signIn" : "cancel"] = cancel.value
        return view
    }
}

extension LinkPage.Choice {
    fileprivate func value(in localization: Localization, _ source: ProvenSource, isSuggested: Bool) -> [String: Any] {
        let (label, hint): (PageText, PageText?) =
            switch choice {
            case .create: (.createNew, .createNewHint)
            // A mailed code has shown already whose the account is, and is no way that could be linked to it.
            case .bind: (.useExisting, source == .mailbox ? nil : .useExistingHint)
            }
        var value: [String: Any] = [
            "link": HTMLText(link), "label": localization[label], "suggested": isSuggested,
        ]
        value["hint"] = hint.map { ["message": localization[$0]] }
        return value
    }
}
