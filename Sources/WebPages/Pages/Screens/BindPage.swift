import Texts

/// Which account is the person's: the proofs of it.
struct BindPage: WebPage {
    let purpose: SignInPurpose
    let source: ProvenSource
    let holder: AccountHolder?
    /// The person's own address, where there is an account with it of which nothing is shown.
    var takenAddress: String?
    /// Posts `proof=ticket` by its button: the mailbox is proven and ``holder`` is shown. `nil` where that is no proof.
    let confirm: FormTarget?
    /// Whether that removes what was set up in the account before, as its button then says.
    var clears = true
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
    /// Posts `to=create` by its button, where that may be chosen: of the password's form if there is one, so that the address
    /// that was typed comes along.
    let create: FormTarget?
    let cancel: FormTarget
    /// What stands in the field for the address.
    var email: String?
    var error: FormError?
}

extension BindPage {
    static let template = """
        {{#isCodeRight}}
        <p class="lead" role="status">{{text.codeWasRight}}</p>
        {{/isCodeRight}}
        {{^isCodeRight}}
        {{#hasEmail}}
        <p class="lead">{{text.signedInAs}}</p>
        <p class="lead">{{text.holderExists}}</p>
        {{/hasEmail}}
        <p class="lead">{{#isMailbox}}{{text.bindLeadMailbox}}{{/isMailbox}}\
        {{^isMailbox}}{{text.bindLead}}{{/isMailbox}}</p>
        {{/isCodeRight}}
        {{> error}}
        {{> holder}}
        {{#confirm}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        <button class="primary" name="proof" value="ticket"{{#clears}} aria-describedby="mine"{{/clears}}>{{text.thisIsMine}}</button>
        {{#clears}}
        <p class="hint" id="mine">{{text.thisIsMineHint}}</p>
        {{/clears}}
        </form>
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
        {{#create}}
        {{> createButton}}
        {{/create}}
        </form>
        {{/password}}
        {{^password}}
        {{#create}}
        <form method="post" action="{{{action}}}">{{> csrf}}{{> createButton}}</form>
        {{/create}}
        {{/password}}
        {{> cancelLast}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[isCodeRight ? .isThisYours : .bindTitle], error: error)
        view.show(purpose, in: theme)
        view.show(source, email: takenAddress)
        view.show(holder, in: localization)
        view["isCodeRight"] = isCodeRight
        view["providers"] = providers.map { $0.value(in: localization, theme) }
        view["divided"] = confirm != nil || !providers.isEmpty
        view["confirm"] = confirm?.value
        view["clears"] = clears
        view["password"] = password?.value
        view["address"] = email.map { HTMLText($0) }
        view["offersEmailCode"] = offersEmailCode
        view["create"] = create?.value
        view["cancel"] = cancel.value
        return view
    }
}
