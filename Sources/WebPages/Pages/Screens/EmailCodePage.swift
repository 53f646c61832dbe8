import Texts

/// A code by mail: first the address, then the code.
struct EmailCodePage: WebPage {
    /// What the code is for.
    enum Reason: String, CaseIterable, Sendable {
        case signIn
        /// To prove the account that the identity is linked to.
        case bind
        /// The account has no proven address, and the client asks for one.
        case confirmAddress
        /// To make an account with the address; there is no first step.
        case register
        /// The account is to have this address.
        case changeAddress
    }

    enum Back: Sendable {
        /// A page before which nothing was typed.
        case link(String)
        /// The value of the button.
        case button(String)
    }

    let purpose: SignInPurpose
    let reason: Reason
    let step: CodeStep
    /// Where both steps post: without `code` one is mailed. "Send another code" posts `email` and `again=1` here.
    let form: FormTarget
    /// Where *Back* leads, with what was typed: a button of the form, `to`.
    let back: Back
    /// What stands in the field for the address in the first step.
    var email: String?
    /// Whether the person has signed in to another account than before.
    var isOfOtherAccount = false
    /// Signs out of the account that wants the address, which may be another one's, and offers the chooser.
    var otherAccount: FormTarget?
    var error: FormError?
}

extension EmailCodePage {
    static let template = """
        {{> otherAccount}}
        <p class="lead">{{lead}}</p>
        {{> codeSent}}
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{#sent}}
        {{> codeField}}
        <button class="primary">{{text.confirmCode}}</button></form>
        {{> anotherCode}}
        {{/sent}}
        {{^sent}}
        {{> emailField}}
        <button class="primary">{{text.sendCode}}</button>
        {{/sent}}
        {{#backScreen}}
        <p class="last"><button class="quiet" name="to" value="{{{backScreen}}}" formnovalidate>{{text.back}}</button></p>
        {{/backScreen}}
        </form>
        {{#backLink}}
        <p class="last"><a class="button quiet" href="{{{backLink}}}">{{text.back}}</a></p>
        {{/backLink}}
        {{#otherAccount}}
        <form method="post" action="{{{action}}}">{{> csrf}}<button class="quiet">{{text.useAnotherAccount}}</button></form>
        {{/otherAccount}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view: PageView
        switch step {
        case .address:
            view = PageView(localization[texts.title], error: error)
            view["lead"] = localization[texts.lead]
        case .code:
            view = PageView(localization[.enterCodeTitle], error: error)
            view["lead"] = localization[texts.sent]
        }
        view.show(step, email: email)
        view.show(purpose, in: theme)
        view["isOtherAccount"] = isOfOtherAccount
        view["otherAccount"] = otherAccount?.value
        view.show(form)
        switch back {
        case .link(let target): view["backLink"] = HTMLText(target)
        case .button(let screen): view["backScreen"] = HTMLText(screen)
        }
        return view
    }

    /// The title and the lead of the first step, and the lead of the second.
    private var texts: (title: PageText, lead: PageText, sent: PageText) {
        switch reason {
        case .signIn: (.codeTitle, .codeLead, .codeSent)
        case .bind: (.codeTitleBind, .codeLeadBind, .codeSent)
        // Whose person is signed in: the code goes to whatever address they type.
        case .confirmAddress: (.codeTitleConfirmAddress, .codeLeadConfirmAddress, .codeSentConfirmAddress)
        case .changeAddress: (.changeAddress, .changeAddressLead, .codeSentConfirmAddress)
        case .register: (.createTitle, .registerLead, .codeSentConfirmAddress)
        }
    }
}
