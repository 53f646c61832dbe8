import Texts

/// The last question before an account is made: whether there is none yet, unless one has been shown.
struct CreatePage: WebPage {
    let purpose: SignInPurpose
    let source: ProvenSource
    /// The person's own address, unless a relay.
    let email: String?
    /// Posts `displayName` (may be empty), and `password` (may be empty) where ``offersPassword``; also `to=bind` where
    /// ``offersBind``.
    let form: FormTarget
    /// Whether a password may be chosen: where a mailbox was proven.
    let offersPassword: Bool
    /// What stands in the field for the name.
    let displayName: String?
    /// The account that will lose the address to the new one; `nil` where none will.
    let takesAddressFrom: AccountHolder?
    /// Whether a button leads to *bind*, with the name that was typed.
    let offersBind: Bool
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
        {{#asksBefore}}
        <div class="box"><p>{{text.askedBefore}}</p></div>
        {{/asksBefore}}
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> displayNameField}}
        {{#offersPassword}}
        {{> passwordOwner}}
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
        <button class="primary">{{text.createAccount}}</button>
        {{#offersBind}}
        {{#asksBefore}}
        <button name="to" value="bind" formnovalidate>{{text.haveAccount}}</button>
        {{/asksBefore}}
        {{^asksBefore}}
        <button class="quiet" name="to" value="bind" formnovalidate>{{text.useExisting}}</button>
        {{/asksBefore}}
        {{/offersBind}}
        </form>
        {{> cancelLast}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.createTitle], error: error)
        view.show(purpose, in: theme)
        view.show(source, email: email)
        view.show(takesAddressFrom, in: localization)
        view.show(form)
        let takesAddress = takesAddressFrom != nil && email != nil
        view["takesAddress"] = takesAddress
        view["offersBind"] = offersBind
        view["asksBefore"] = offersBind && !takesAddress
        // Such an account is disabled, whether or not it has a password.
        view["closes"] = takesAddressFrom?.identities.isEmpty == true
        view["offersPassword"] = offersPassword
        view["address"] = email.map { HTMLText($0) }
        view["displayName"] = displayName.map { HTMLText($0) }
        view["cancel"] = cancel.value
        return view
    }
}
