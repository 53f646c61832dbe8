/// The purpose of a web flow, a sign-in in a browser.
package enum WebFlowKind: String, CaseIterable, Sendable {
    /// It ends at an app, which exchanges a code.
    case app
    /// It ends at our own page of the account.
    case account
    /// It ends at our own consent page.
    case oauth
}

/// The progress of a web flow. Each move is one statement of `WebFlowStore`; `WebSignIn.settle` decides what follows a
/// proof, for all ways to give one.
///
///       ┌──────────────── reopen: another way, or the OAuth client's consent ────────────────┐
///       ▼                                                                                    │
///     new ─send─▶ sent ─hold: Apple's─▶ returned ─take─┐                                     │
///      │           │└────take: Google's────────────────┼─▶ verifying ─┬─keep─▶ linking ──────┤
///      └───take: proven by password or code────────────┘              │          ││          │
///                  │                                                  ├──────────┼┴─end─▶ spent
///                  │                                                  └─keep─▶ coded ─spend──▲
///                  └◀─────── send: to prove the account ─────────────────────────┘
///
/// What is proven on our own page for an app is kept by the transaction that takes the flow, which is never seen in between.
/// An OAuth client's flow is also spent by `allow`, from each status that waits for the person. From there `cancel` fails
/// a flow, a client's whose person refuses among them, and so do `take` for another browser and a proof that is refused. A
/// flow with a ticket goes back to `linking` by `resumeLinking`, whatever has become of the way to the provider.
package enum WebFlowStatus: String, CaseIterable, Sendable {
    /// The person has yet to choose how to sign in.
    case new
    /// The browser was sent to a provider.
    case sent
    /// Apple's answer is held until the browser comes for it.
    case returned
    /// What the browser brought is being verified; no other request can continue the flow.
    case verifying
    /// The person of a flow that ends here has a link ticket.
    case linking
    /// The person is proven, and the app has a code for it.
    case coded
    case spent
    case failed

    /// Whether the person may still choose how to sign in.
    package var isOpen: Bool {
        switch self {
        case .new, .sent, .returned: true
        case .verifying, .linking, .coded, .spent, .failed: false
        }
    }

    /// Whether the flow was finished, refused or given up, however old it is.
    package var isOver: Bool {
        switch self {
        case .coded, .spent, .failed: true
        case .new, .sent, .returned, .verifying, .linking: false
        }
    }
}

/// Names a flow in the URLs of our pages. It is no secret: each use needs the browser's cookie too.
package typealias WebFlowID = Identifier<WebFlowKind>
