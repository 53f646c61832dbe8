import Accounts
import Foundation

@testable import WebPages

/// Every page in every state that it has, made of a few names that a test may choose.
struct PageSamples {
    var app = "Lamp"
    var client = "Google Home"
    var email = "mira.novak@example.com"
    var masked = "m***@example.com"
    var displayName = "Mira Novak"
    var sentence = "Switch your lamps on and off"
    var uri = "com.example.lamp:/signed-in?code=c0de&state=st4te&iss=https%3A%2F%2Fauth.example.com"
    var reference = "0198c1d2-7b3e-7c4f-8a51-5e6f70819203"

    /// With names as long as they may be, one of them without a space.
    static let long = PageSamples(
        app: String(repeating: "Lamps and lanterns ", count: 6).prefix(100).description,
        client: String(repeating: "Donaudampfschifffahrt", count: 5).prefix(100).description,
        email: String(repeating: "a", count: 64) + "@" + String(repeating: "b", count: 60) + ".example.com",
        displayName: String(repeating: "Mira Novak ", count: 10).prefix(100).description)

    private let created = Timestamp(seconds: 1_709_649_000)
    private let linked = Timestamp(seconds: 1_748_736_000)

    private func form(_ path: String, keeping hidden: [String: String] = [:]) -> FormTarget {
        FormTarget(
            action: "/web/\(path)?flow=0198c1d2-7b3e-7c4f-8a51-5e6f70819203", csrf: "dG9rZW4tb2YtdGhpcy1mb3Jt",
            hidden: hidden)
    }

    /// Where *bind* posts after a name was typed for a new account.
    private var bindForm: FormTarget { form("link/bind", keeping: ["displayName": displayName]) }

    private func link(_ with: String) -> String {
        "/web/sign-in?flow=0198c1d2-7b3e-7c4f-8a51-5e6f70819203&with=\(with)"
    }

    private var holder: AccountHolder {
        AccountHolder(
            identities: [
                HeldIdentity(provider: .apple, maskedEmail: masked, linkedAt: linked),
                HeldIdentity(provider: .google, maskedEmail: masked, linkedAt: created),
            ], createdAt: created)
    }

    private var providersOnly: AccountHolder {
        AccountHolder(identities: [HeldIdentity(provider: .apple)], createdAt: nil)
    }

    /// As an imported account may be.
    private var addressOnly: AccountHolder { AccountHolder(identities: [], createdAt: created) }

    typealias Sample = (name: String, page: any WebPage)

    /// By a name that is good for a file.
    var pages: [Sample] {
        let named: [Sample] = [signingIn, linking, ending, account].flatMap { pages in
            pages.map { (name: $0.key, page: $0.value) }
        }
        return named + codes + outcomes + failures + errors
    }

    private var outcomes: [Sample] {
        OpenAppPage.Outcome.allCases.map { outcome -> Sample in
            ("open-app-\(outcome.rawValue)", OpenAppPage(appName: app, uri: uri, outcome: outcome))
        }
    }

    private var failures: [Sample] {
        FailurePage.Failure.allCases.map { failure -> Sample in
            let page = FailurePage(failure: failure, retryLink: link("chooser"), requestID: reference)
            return ("failure-\(failure.rawValue)", page)
        }
    }

    private var errors: [Sample] {
        FormError.allCases.map { error -> Sample in ("error-\(error.rawValue)", chooser(error: error)) }
    }

    private func chooser(
        _ purpose: SignInPurpose? = nil, providers: [Provider] = [.apple, .google], alone: Bool = false,
        act: AccountAct? = nil, error: FormError? = nil
    ) -> any WebPage {
        ChooserPage(
            purpose: purpose ?? .app(app),
            providers: providers.map { .init(provider: $0, form: form("start/\($0.rawValue)")) },
            password: alone ? nil : form("password"), emailCodeLink: alone ? nil : link("code"),
            offersRegistration: !alone && act == nil,
            cancel: form("cancel"), email: error == nil ? nil : email, act: act, isAgain: act != .delete, error: error)
    }

    private var signingIn: KeyValuePairs<String, any WebPage> {
        [
            "chooser": chooser(),
            "chooser-apple-alone": chooser(providers: [.apple], alone: true),
            "chooser-account": chooser(.account),
            "chooser-link": chooser(.account, act: .link(.google)),
            "chooser-delete": chooser(.account, act: .delete),
            "chooser-client": chooser(.client(client), providers: [.google]),
            "register": RegisterPage(
                purpose: .app(app), form: form("register"), email: email, name: displayName, error: .weakPassword),
            "forgot": ForgotPage(purpose: .client(client), step: .address, form: form("forgot"), email: email),
            "forgot-code": ForgotPage(
                purpose: .account, step: .code(email: email), form: form("forgot"), error: .wrongCode),
            "forgot-weak": ForgotPage(
                purpose: .account, step: .code(email: email), form: form("forgot"), code: "204816",
                error: .weakPassword),
            "password": PasswordPage(
                purpose: .app(app), form: form("password"), offersEmailCode: true, email: email, error: .wrongPassword),
        ]
    }

    private var codes: [Sample] {
        EmailCodePage.Reason.allCases.flatMap { reason -> [Sample] in
            let asked = EmailCodePage(
                purpose: .client(client), reason: reason, step: .address, form: form("email-code"),
                back: .link(link("chooser")), email: email,
                otherAccount: reason == .confirmAddress ? form("other-account") : nil)
            let mailed = EmailCodePage(
                purpose: .client(client), reason: reason, step: .code(email: email, isAgain: reason == .register),
                form: form("email-code"), back: .button("first"), error: reason == .bind ? .wrongCode : nil)
            return [("code-\(reason.rawValue)", asked), ("code-entry-\(reason.rawValue)", mailed)]
        }
    }

    private func link(_ choices: [LinkChoice], _ source: ProvenSource, _ holder: AccountHolder?) -> any WebPage {
        LinkPage(
            purpose: .account, source: source, email: email,
            choices: choices.map { .init(choice: $0, link: link($0.rawValue)) }, holder: holder,
            cancel: form("link/cancel"), error: choices.isEmpty ? .emailTaken : nil)
    }

    private func create(
        _ source: ProvenSource, offersPassword: Bool, holder: AccountHolder? = nil, error: FormError? = nil
    ) -> any WebPage {
        CreatePage(
            purpose: .account, source: source, email: email, form: form("link/create", keeping: ["email": email]),
            offersPassword: offersPassword, displayName: displayName,
            takesAddressFrom: offersPassword ? holder ?? self.holder : nil, offersBind: true,
            cancel: form("link/cancel"), error: error)
    }

    private func bind(
        _ source: ProvenSource, holder: AccountHolder?, isHidden: Bool = false, isProof: Bool,
        isCodeRight: Bool = false, error: FormError? = nil
    ) -> any WebPage {
        BindPage(
            purpose: .account, source: source, holder: holder, takenAddress: isHidden ? email : nil,
            confirm: isProof ? bindForm : nil, password: isCodeRight ? nil : bindForm, offersEmailCode: true,
            isCodeRight: isCodeRight, create: isHidden ? nil : bindForm,
            cancel: form("link/cancel"), email: email, error: error)
    }

    private func conflict(_ proof: ConflictPage.Proof) -> any WebPage {
        ConflictPage(
            purpose: .account, source: .google, email: email,
            existing: HeldIdentity(provider: .google, maskedEmail: masked, linkedAt: linked), proof: proof,
            replace: form("link/bind"), keep: form("link/cancel"), error: nil)
    }

    private var linking: KeyValuePairs<String, any WebPage> {
        [
            "link-claimed": link([.create, .bind], .apple, nil),
            "link-proven": link([.bind], .google, nil),
            "link-stated": link([.bind, .create], .google, providersOnly),
            "link-mailbox": link([.bind, .create], .mailbox, holder),
            "link-imported": link([.bind, .create], .mailbox, addressOnly),
            "link-none": link([], .mailbox, nil),
            "create": create(.google, offersPassword: false),
            "create-mailbox": create(.mailbox, offersPassword: true),
            "create-closing": create(.mailbox, offersPassword: true, holder: addressOnly),
            "create-error": create(.mailbox, offersPassword: true, error: .weakPassword),
            "bind": bind(.google, holder: providersOnly, isProof: false),
            "bind-holder-hidden": bind(.apple, holder: nil, isHidden: true, isProof: false),
            "bind-code-right": bind(.google, holder: holder, isProof: true, isCodeRight: true),
            "bind-mailbox": bind(.mailbox, holder: holder, isProof: true),
            "bind-error": bind(.apple, holder: nil, isProof: false, error: .wrongPassword),
            "conflict-password": conflict(.password(email: email)),
            "conflict-code": conflict(.emailCode(email: email, code: "123456")),
            "conflict-ticket": conflict(.ticket),
            "conflict-provider": conflict(.provider(.apple, replacing: .first(at: linked))),
        ]
    }

    private var ending: KeyValuePairs<String, any WebPage> {
        [
            "consent": ConsentPage(
                client: client, account: AccountTitle(displayName: displayName, email: email),
                otherAccount: form("sign-out"), scopes: [.profile, .email, .sentence(sentence)],
                clientPrivacyURL: "https://policies.example.com/privacy?a=1&b=2", form: form("consent")),
            "missing-email": MissingEmailPage(
                purpose: .client(client), account: AccountTitle(displayName: displayName, email: nil),
                otherAccount: form("sign-out"), form: form("consent")),
            "unconfirmed-email": MissingEmailPage(
                purpose: .client(client), account: AccountTitle(displayName: displayName, email: email),
                otherAccount: form("sign-out"), form: form("consent")),
            "failure-late": FailurePage(
                failure: .flowExpired, retryLink: "https://lamp.example.com/signed-in?error=access_denied",
                appName: app, requestID: reference),
            "flip": FlipPage(),
            "signed-out": SignedOutPage(signInLink: "/web/account"),
            "signed-out-unlinked": SignedOutPage(signInLink: "/web/account", unlinked: .google),
        ]
    }

    private var account: KeyValuePairs<String, any WebPage> {
        let apple = IdentityID(now: created)
        let google = IdentityID(now: linked)
        func device(_ name: String?, isThisOne: Bool = false) -> AccountPage.Device {
            AccountPage.Device(
                id: SessionID(now: isThisOne ? created : linked), name: name, isBrowser: isThisOne,
                isThisOne: isThisOne, lastUsedAt: isThisOne ? linked : created)
        }
        func page(
            _ providers: [AccountPage.LinkedProvider], _ clients: [AccountPage.LinkedClient],
            notice: AccountPage.Notice? = nil
        ) -> any WebPage {
            let isWhole = providers.count > 1
            let unlinked = Provider.allCases.filter { provider in !providers.contains { $0.provider == provider } }
            return AccountPage(
                displayName: isWhole ? displayName : nil,
                address: providers.isEmpty ? nil : .init(text: email, isConfirmed: isWhole),
                addressTakenAt: providers.isEmpty ? linked : nil,
                replacement: isWhole
                    ? .init(email: masked, dueAt: linked, keep: form("account/keep-address")) : nil,
                canChangeAddress: true, password: isWhole ? .isSet : providers.isEmpty ? .isImpossible : .isNotSet,
                providers: providers, linkable: unlinked.map { ($0, form("account/link/\($0.rawValue)")) },
                devices: [device(nil, isThisOne: true)] + (isWhole ? [device(app), device(nil)] : []),
                furtherDevices: isWhole ? 3 : 0, clients: clients, unlink: form("account/unlink"),
                endDevice: form("account/devices/end"), signOut: form("sign-out"),
                signOutEverywhere: form("account/sign-out-everywhere"), notice: notice)
        }
        let title = AccountTitle(displayName: displayName, email: masked)
        let home = AccountPage.LinkedClient(id: "home", name: client, linkedAt: created, lastUsedAt: linked)
        let other = AccountPage.LinkedClient(
            id: "other", name: app, linkedAt: linked, lastUsedAt: nil, isDisabled: true)
        return [
            "account": page(
                [
                    .init(id: apple, provider: .apple, email: nil, linkedAt: created, canBeUnlinked: true),
                    .init(id: google, provider: .google, email: email, linkedAt: linked, canBeUnlinked: true),
                ], [home, other]),
            "account-one-way": page(
                [
                    .init(
                        id: google, provider: .google, email: email, linkedAt: linked, canBeUnlinked: false,
                        isBlocked: true, wantsNewPassword: true)
                ], [],
                notice: .unlinkedProvider(.apple)),
            "account-bare": page([], [home], notice: .unlinkedClient(client)),
            "account-linked": page([], [], notice: .otherAccount),
            "name": NamePage(
                form: form("account/name"), cancelLink: "/web/account", displayName: displayName,
                isOfOtherAccount: true, error: .invalidDisplayName),
            "password-change": NewPasswordPage(
                form: form("account/password"), cancelLink: "/web/account", hasPassword: true, email: email,
                error: .wrongCurrentPassword),
            "password-first": NewPasswordPage(
                form: form("account/password"), cancelLink: "/web/account", hasPassword: false, email: email,
                error: .weakPassword),
            "link-provider": AccountQuestionPage(
                subject: .link(.apple), account: title, form: form("account/link/apple"),
                cancelLink: "/web/account", isOfOtherAccount: true),
            "export": AccountQuestionPage(
                subject: .export, account: title, form: form("account/export"), cancelLink: "/web/account",
                error: .tooManyTries),
            "delete": DeletePage(
                account: title, providers: [.apple, .google], clients: [client, app],
                form: form("account/delete"), cancelLink: "/web/account", isOfOtherAccount: true),
            "deleted": DeletedPage(),
            "unlink-provider": UnlinkPage(
                subject: .provider(google, .google, email: email, opensSession: true), account: title,
                form: form("account/unlink"), cancelLink: "/web/account"),
            "unlink-client": UnlinkPage(
                subject: .client("home", name: client), account: title, form: form("account/unlink"),
                cancelLink: "/web/account", isOfOtherAccount: true),
        ]
    }
}

extension PageTheme {
    static let plain = PageTheme(name: "auth.example.com")

    /// With everything that an operator can set.
    static let operated = PageTheme(
        name: "Lamp & Sons", accentColor: RGBColor(hex: "#e8590c"),
        logo: PageAsset(name: "logo", kind: .svg, bytes: Array(lamp.utf8)),
        appleLogo: PageAsset(name: "apple", kind: .svg, bytes: Array(square.utf8)),
        privacyURL: "https://example.com/privacy?a=1&b=2", termsURL: "https://example.com/terms",
        helpURL: "https://example.com/help")

    /// A logo that is a word, beside a name as long as it may be, without a space.
    static let wordMarked = PageTheme(
        name: String(repeating: "Lampenladen", count: 10).prefix(100).description,
        logo: PageAsset(name: "word", kind: .svg, bytes: Array(word.utf8)),
        appleLogo: PageAsset(name: "apple", kind: .svg, bytes: Array(square.utf8)),
        privacyURL: "https://example.com/privacy", termsURL: "https://example.com/terms",
        helpURL: "https://example.com/help")

    private static let word = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 40"><rect width="600" height="40" fill="#e8590c"/>\
        <text x="20" y="30" font-size="28" fill="#fff">Lampenladen Lampenladen Lampenladen</text></svg>
        """

    private static let lamp = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#e8590c"/>\
        <circle cx="16" cy="14" r="6" fill="#fff"/><rect x="13" y="21" width="6" height="4" fill="#fff"/></svg>
        """

    /// In the place of Apple's logo, which only Apple gives away.
    private static let square = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 44 44"><rect x="14" y="14" width="16" height="16"/></svg>
        """
}
