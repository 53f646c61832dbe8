import Texts

/// Something that no form can mend: what happened, and what to do.
struct FailurePage: WebPage {
    enum Failure: String, CaseIterable, Sendable {
        /// The app, or the address it wants the answer at, is not registered.
        case unknownApp
        /// The same of a client of the OAuth server, or one that is disabled.
        case unknownClient
        case invalidRequest
        /// Unknown, too old, or of another browser.
        case flowExpired
        /// The browser has no cookie of ours: it takes none, or has not opened the flow.
        case cookiesMissing
        /// Finished or given up before, as for who has gone back.
        case flowOver
        /// The provider's answer was refused, or came twice.
        case answerRefused
        /// The hidden field of a form is missing or wrong.
        case formExpired
        /// The account is signed in for too long to be changed.
        case reauthenticationRequired
        /// The person has just signed in, by a proof that a provider gave long ago.
        case staleProof
        case accountDisabled
        case tooManyRequests
        case notFound
        case methodNotAllowed
        case unavailable
        case internalError
    }

    let failure: Failure
    /// A page from which the person can begin again, empty for the address that has failed; `nil` where only the app can.
    var retryLink: String?
    /// The app or the client that it is of, if it is none of ours.
    var appName: String?
    /// The request's id, for the support.
    let requestID: String
}

extension FailurePage {
    static let template = """
        <p class="lead" role="alert">{{advice}}</p>
        {{#retryLink}}
        <a class="button primary" href="{{{retryLink}}}">{{retry}}</a>
        {{/retryLink}}
        <p class="reference last">{{text.reference}}</p>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        let texts = localization.templates(failure)
        var view = PageView(texts.heading)
        view["advice"] = texts.advice
        view["retryLink"] = retryLink.map { HTMLText($0) }
        let retry: PageText = appName != nil ? .openTitle : failure == .flowOver ? .accountTitle : .tryAgain
        view["retry"] = localization[retry]
        view.names["app"] = appName
        view.names["reference"] = requestID
        return view
    }
}
