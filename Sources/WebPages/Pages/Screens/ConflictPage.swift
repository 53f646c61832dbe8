import Accounts
import Texts

/// The account has another identity of the provider: replace it, or keep it.
struct ConflictPage: WebPage {
    /// The proof of the account, which *replace* gives once more.
    enum Proof: Sendable {
        /// Posts `email` (hidden) and `password`, asked for again: no page repeats one.
        case password(email: String)
        /// Posts `email` and `code`, both hidden: the code is still good.
        case emailCode(email: String, code: String)
        /// Posts `proof=ticket` (hidden).
        case ticket
        /// Posts `provider` and `existing`, both hidden: the way to the provider once more, by which the account was proven.
        case provider(Provider, replacing: IdentityID)
    }

    let purpose: SignInPurpose
    let source: ProvenSource
    /// The person's own address, unless a relay.
    let email: String?
    /// The identity that is linked so far.
    let existing: HeldIdentity
    let proof: Proof
    /// Posts `onConflict=replace` by its button, and the proof.
    let replace: FormTarget
    /// Ends the choice; the account stays as it is.
    let keep: FormTarget
    var error: FormError?
}

extension ConflictPage {
    static let template = """
        {{#hasEmail}}
        <p class="lead">{{text.signedInAs}}</p>
        {{/hasEmail}}
        <p>{{text.conflictLead}}</p>
        <div class="box"><ul class="rows">
        {{#existing}}
        {{> heldIdentity}}
        {{/existing}}
        </ul></div>
        <p class="lead">{{text.conflictHint}}</p>
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{#asksPassword}}
        <div class="field"><label for="password">{{text.passwordAgain}}</label>
        <input id="password" name="password" type="password" autocomplete="current-password" dir="ltr" required\
        {{#invalid.password}} aria-invalid="true" aria-describedby="error"{{/invalid.password}}\
        {{#focus.password}} autofocus{{/focus.password}}></div>
        {{/asksPassword}}
        <button name="onConflict" value="replace">{{text.replace}}</button></form>
        {{#keep}}
        <form method="post" action="{{{action}}}">{{> csrf}}<button>{{text.keep}}</button></form>
        {{/keep}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.conflictTitle], error: error)
        view.show(purpose, in: theme)
        view.show(source, email: email)
        view["existing"] = existing.value(in: localization)
        if case .password = proof { view["asksPassword"] = true }
        var form = replace
        form.hidden.merge(hiddenFields) { _, own in own }
        view.show(form)
        view["keep"] = keep.value
        return view
    }

    private var hiddenFields: [String: String] {
        switch proof {
        case .password(let email): ["email": email]
        case .emailCode(let email, let code): ["email": email, "code": code]
        case .ticket: ["proof": "ticket"]
        case .provider(let provider, let id): ["provider": provider.rawValue, "existing": id.description]
        }
    }
}
