import Texts

/// The last question before an account is made: whether there is none yet, unless one has been shown.
struct CreatePage: Sendable {
    let purpose: SignInPurpose
    let source: ProvenSource
    /// The person's own address, unless a relay.
    let email: String?
    /// Posts `displayName` (may be empty), and `password` (may be empty) where ``offersPassword``.
    let form: FormTarget
    /// Whether a password may be chosen: where a mailbox was proven.
    let offersPassword: Bool
    /// What stands in the field for the name.
    let displayName: String?
    /// The account that will lose the address to the new one; `nil` where none will.
    let takesAddressFrom: AccountHolder?
    /// The page of *bind*.
    let bindLink: String
    let cancel: FormTarget
    var error: FormError?
}

extension CreatePage {
    static let template = """
        {{^isMailbox}}
        {{#hasEmail}}
        <p class="lead">{{text.signedInAs}}</p>
        {{/hasEmail}}
        <p class="lead">{{text.notLinkedYet}}</p>
        {{/isMailbox}}
        {{^takesAddress}}
        <div class="box"><p>{{text.askedBefore}}</p>
        <a class="button" href="{{{bindLink}}}">{{text.haveAccount}}</a></div>
        {{/takesAddress}}
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> displayNameField}}
        {{#offersPassword}}
        <div class="field"><label for="password">{{text.newPassword}}</label>
        <input id="password" name="password" type="password" autocomplete="new-password" dir="ltr" \
        aria-describedby="{{#invalid.password}}error {{/invalid.password}}password-hint"\
        {{#invalid.password}} aria-invalid="true"{{/invalid.password}}\
        {{#focus.password}} autofocus{{/focus.password}}>
        <p class="hint" id="password-hint">{{text.newPasswordHint}}</p></div>
        {{/offersPassword}}
        {{#takesAddress}}
        {{> holder}}
        <p>{{#closes}}{{text.closesAccount}}{{/closes}}{{^closes}}{{text.takesAddress}}{{/closes}}</p>
        {{/takesAddress}}
        <button class="primary">{{text.createAccount}}</button></form>
        {{#takesAddress}}
        <p class="last"><a class="button quiet" href="{{{bindLink}}}">{{text.useExisting}}</a></p>
        {{/takesAddress}}
        {{> cancelLast}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(.create, localization[.createTitle], error: error)
        view.show(purpose, in: theme)
        view.show(source, email: email)
        view.show(takesAddressFrom, in: localization)
        view.show(form)
        view["takesAddress"] = takesAddressFrom != nil && email != nil
        // Such an account is disabled, whether or not it has a password.
        view["closes"] = takesAddressFrom?.identities.isEmpty == true
        view["offersPassword"] = offersPassword
        view["displayName"] = displayName.map { HTMLText($0) }
        view["bindLink"] = HTMLText(bindLink)
        view["cancel"] = cancel.value
        return view
    }
}
