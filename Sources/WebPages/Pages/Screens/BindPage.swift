/// Which account is the person's: the proofs of it.
struct BindPage: Sendable {
    let purpose: SignInPurpose
    let source: ProvenSource
    let holder: AccountHolder?
    /// Posts `proof=ticket` by its button: the mailbox is proven and ``holder`` is shown. `nil` where that is no proof.
    let confirm: FormTarget?
    /// Posts `email`, `password`; `nil` where a mailbox was proven, which is the proof of its own account alone.
    let password: FormTarget?
    /// Whether a mailed code may prove it instead of the password: a button of that form, `to=email`, so that the address
    /// that was typed comes along.
    let offersEmailCode: Bool
    /// The page of *create*, where that may be chosen.
    let createLink: String?
    let cancel: FormTarget
    var email: String?
    var error: FormError?
}

extension BindPage {
    static let template = """
        <p class="lead">{{#isMailbox}}{{text.bindLeadMailbox}}{{/isMailbox}}\
        {{^isMailbox}}{{text.bindLead}}{{/isMailbox}}</p>
        {{> error}}
        {{> holder}}
        {{#confirm}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        <button class="primary" name="proof" value="ticket" aria-describedby="mine">{{text.thisIsMine}}</button>
        <p class="hint" id="mine">{{text.thisIsMineHint}}</p></form>
        {{/confirm}}
        {{#password}}
        {{#confirm}}
        <p class="or">{{text.or}}</p>
        {{/confirm}}
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
        var view = PageView(.bind, localization[.bindTitle], error: error)
        view.show(purpose, in: theme)
        view.show(source, email: nil)
        view.show(holder, in: localization)
        view["confirm"] = confirm?.value
        view["password"] = password?.value
        view["address"] = email.map { HTMLText($0) }
        view["offersEmailCode"] = offersEmailCode
        view["createLink"] = createLink.map { HTMLText($0) }
        view["cancel"] = cancel.value
        return view
    }
}
