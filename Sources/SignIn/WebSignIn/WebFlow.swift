package import Accounts
import OpenSSL
import Primitives

/// A web flow, as far as our pages show it.
package struct WebFlow: Sendable {
    package enum Kind: Sendable {
        /// It ends at an app: its name, and the kind of its redirect URI.
        case app(name: String, AppRedirectURI.Kind)
        case account
        /// It ends at the consent to what a client of the OAuth server asks for; with the client's name.
        case oauth(OAuthAuthorization, client: String)
    }

    package let id: WebFlowID
    package let kind: Kind
    package let status: WebFlowStatus
    /// The providers on offer, in the order in which they are shown.
    package let providers: [Provider]
    /// The only one that the app wants.
    package let only: Provider?
    /// The `ui_locales` of the request.
    package let languages: [String]
    package let loginHint: String?
    /// What `form-action` has to allow beside `'self'`: the providers' origins, and what the redirect URI asks
    /// for.
    package let formActionSources: [String]
    /// What the person has to choose, when the status is `linking`.
    package let link: LinkRequired?
    /// What its person does when the flow is over, where it ends at the page of the account.
    package let errand: AccountErrand?
}

/// A flow in which nothing can be done any more, as long as its row is kept.
package struct PastWebFlow: Sendable {
    package enum WayBack: Sendable {
        /// To the page of the account.
        case account
        /// To the app, which gets an error.
        case app(AppReturn)
        /// To the client of the OAuth server, by its name, which gets one if it may still have an answer there.
        case client(OAuthAuthorization, name: String)
    }

    /// Whether the browser that asks has begun it.
    package let isOfBrowser: Bool
    /// Whether it was finished, refused or given up, and has not just expired.
    package let isOver: Bool
    package let hasExpired: Bool
    /// The `ui_locales` of its request.
    package let languages: [String]
    /// To where its person began, if a page of ours can lead there.
    package let wayBack: WayBack?
}

/// A flow, and the browser that goes on with it. To any other browser than the one that opened it there is no such flow.
package struct FlowReference: Sendable {
    package let id: WebFlowID
    package let browser: BrowserSecret
    /// What the browser goes on with: a form, as it was posted, or a provider's answer; `nil` where it looks.
    package let input: [UInt8]?
    /// The ticket of the page that the form was on, if it was about one.
    package let ticket: LinkTicketName?

    package init(id: WebFlowID, browser: BrowserSecret, input: [UInt8]? = nil, ticket: LinkTicketName? = nil) {
        self.id = id
        self.browser = browser
        self.input = input
        self.ticket = ticket
    }
}

/// Names a flow's link ticket in the forms of its pages. A flow may have several, one after the other, and the ticket itself
/// never leaves the server.
package struct LinkTicketName: Hashable, Sendable {
    package let text: String

    /// One that a form names.
    package init(presented text: String) { self.text = text }

    init(of ticket: String) {
        text = Base64URL.encode(SHA256.hash(Array("countersign ticket of a page 1 \(ticket)".utf8)))
    }
}

extension LinkRequired {
    package var ticketName: LinkTicketName { LinkTicketName(of: linkTicket) }
}

/// The next step of a browser.
package enum WebStep: Sendable {
    /// The flow leaves us for its app: with a code, or with an error.
    case returned(AppReturn)
    /// The person of a client's flow could not be proven, or not be signed in, and the client hears of it; the failure is for
    /// log and counters.
    case refusedClient(OAuthAuthorization, AuthorizationError, SignInFailure)
    /// The person of a flow that ends here could not be proven, or not be signed in.
    case failed(WebFlow, SignInFailure)
    /// The person chooses on our own page whether to make an account.
    case link(WebFlow)
    /// A mailed code was right, and leads into the account that is shown: is it theirs?
    case confirm(WebFlow)
    /// What the person has brought from a provider proves no account to bind to.
    case unproven(WebFlow, UnprovenReason)
    /// The person chooses once more how to sign in.
    ///
    /// - Parameter after: what the way that they had chosen has come to; `nil` where they chose to choose.
    case choose(WebFlow, after: UnprovenReason? = nil)
    /// The person has a new password, and signs in with it.
    case passwordReset(WebFlow)
    /// A flow that ends here has signed its person in.
    case signedIn(WebFlow, WebSessionSecret)
    /// An identity of this provider opens the account of the browser's session too.
    ///
    /// - Parameters:
    ///   - provider: `nil` where it may have been another answer that was linked.
    ///   - languages: the flow's.
    case linked(Provider?, languages: [String])
    /// None was linked to it.
    ///
    /// - Parameters:
    ///   - failure: `nil` where the person cancelled at the provider.
    ///   - languages: the flow's.
    case notLinked(SignInFailure?, languages: [String])
    /// A flow that ends here was given up.
    case cancelled(WebFlow)
}

/// Why a way to sign in, or to prove an account, has opened none.
package enum UnprovenReason: Sendable {
    /// By the person, at the provider.
    case cancelled
    /// The identity is not one of the account that is shown.
    case otherIdentity
    /// It is, but the account has this other identity of the ticket's provider. It is replaced by another proof.
    case conflict(Identity, provenBy: Provider)
    /// The provider has, or what was proven was.
    case refused(SignInFailure)
}

/// The answer to an app's request.
package enum AuthorizeOutcome: Sendable {
    case opened(WebFlow)
    case refused(AppReturn)
    /// The app or its redirect URI is unknown, so the error is a page of ours (RFC 6749 §4.1.2.1).
    case unknownApp
}

/// What Apple's page has made the browser post. Each field came once at most.
package struct AppleAnswer: Sendable {
    package let state: String
    package let code: String?
    package let idToken: String?
    /// JSON text, at first consent alone; unsigned.
    package let user: String?
    package let error: String?

    package init(state: String, code: String?, idToken: String?, user: String?, error: String?) {
        self.state = state
        self.code = code
        self.idToken = idToken
        self.user = user
        self.error = error
    }
}

/// The parameters with which Google has sent the browser back. Each came once at most.
package struct GoogleAnswer: Sendable {
    package let state: String
    package let code: String?
    /// The issuer of the answer (RFC 9207 §2).
    package let issuer: String?
    package let error: String?

    package init(state: String, code: String?, issuer: String?, error: String?) {
        self.state = state
        self.code = code
        self.issuer = issuer
        self.error = error
    }
}
