import Texts

/// Which account is the person's: the proofs of it.
struct BindPage: Sendable {
    let purpose: SignInPurpose
    let source: ProvenSource
    let holder: AccountHolder?
    /// Whether there is an account with the person's address, of which nothing is shown.
    var isHolderHidden = false
    /// Posts `proof=ticket` by its button: the mailbox is proven and ``holder`` is shown. `nil` where that is no proof.
    let confirm: FormTarget?
    /// Posts `email`, `password`; `nil` where a mailbox was proven, which is the proof of its own account alone.
    let password: FormTarget?
    /// By whose identities it can be proven: each posts `provider` by its button.
    var providers: [ChooserPage.ProviderButton] = []
    /// Whether a mailed code may prove it instead of the password: a button of that form, `to=email`, so that the address
    /// that was typed comes along.
    let offersEmailCode: Bool
    /// Whether the person has typed a right code just now: they are asked whether the account that is shown is theirs, and
    /// nothing else.
    var isCodeRight = false
    /// The page of *create*, where that may be chosen.
    let createLink: String?
    let cancel: FormTarget
    var email: String?
    var error: FormError?
}

extension BindPage {
    static let template = """
        {{#isCodeRight}}
        <p class="lead" role="status">{{text.codeWasRight}}</p>
        {{/isCodeRight}}
        {{^isCodeRight}}
        {{#isHolderHidden}}
        <p class="lead">{{text.signedInAs}}</p>
        <p class="lead">{{text.holderExists}}</p>
        {{/isHolderHidden}}
        <p class="lead">{{#isMailbox}}{{text.bindLeadMailbox}}{{/isMailbox}}\
        {{^isMailbox}}{{text.bindLead}}{{/isMailbox}}</p>
        {{/isCodeRight}}
        {{> error}}
        {{> holder}}
        {{#confirm}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        <button class="primary" name="proof" value="ticket" aria-describedby="mine">{{text.thisIsMine}}</button>
        <p class="hint" id="mine">{{text.thisIsMineHint}}</p></form>
        {{/confirm}}
        {{#providers}}
        <form method="post" action="{{{action}}}">{{> csrf}}\
        <button class="provider {{{style}}}" name="provider" value="{{{style}}}">{{{mark}}}<span>{{label}}</span></button></form>
        {{/providers}}
        {{#password}}
        {{#divided}}
        <p class="or">{{text.or}}</p>
        {{/divided}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> emailField}}
        {{> passwordField}}
        <button{{^confirm}} class="primary"{{/confirm}}>{{text.linkAccount}}</button>
        {{#offersEmailCode}}
        {{> emailCodeButton}}
        {{/offersEmailCode}}
        </form>
        {{/password}}
        {{#createLink}}
        <p class="last"><a class="button quiet" href="{{{createLink}}}">{{text.createInstead}}</a></p>
        {{/createLink}}
        {{> cancelLast}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(.bind, localization[isCodeRight ? .isThisYours : .bindTitle], error: error)
        view.show(purpose, in: theme)
        view.show(source, email: isHolderHidden ? email : nil)
        view.show(holder, in: localization)
        view["isHolderHidden"] = isHolderHidden
        view["isCodeRight"] = isCodeRight
        view["providers"] = providers.map { $0.value(in: localization, theme) }
        view["divided"] = confirm != nil || !providers.isEmpty
        view["confirm"] = confirm?.value
        view["password"] = password?.value
        view["address"] = email.map { HTMLText($0) }
        view["offersEmailCode"] = offersEmailCode
        view["createLink"] = createLink.map { HTMLText($0) }
        view["cancel"] = cancel.value
        return view
    }
}
