import CountersignClient
import SwiftUI

/// Shows what the session's state asks for.
struct RootView: View {
    let client: SignInClient
    @State private var state: SessionState?
    /// Of an identity that is new, until it is decided on: also while the person signs in to the account that is theirs.
    @State private var ticket: LinkTicket?
    @Environment(\.scenePhase) private var scenePhase

    var body: some View {
        VStack {
            switch state {
            case nil: ProgressView()
            case .signedIn(let accountID):
                if let ticket {
                    LinkView(client: client, ticket: ticket, signIn: nil) { self.ticket = $0 }
                } else {
                    // Another account is another view, and nothing that was begun as one person is done as another.
                    AccountView(client: client).id(accountID)
                }
            case .signedOut: SignInView(client: client, notice: nil, ticket: $ticket)
            case .ended:
                SignInView(client: client, notice: SessionError.noSession.errorDescription, ticket: $ticket)
            }
        }
        .padding()
        // Before the first unlock of the device there is no state: each stream looks again.
        .task(id: scenePhase) {
            for await next in client.states { state = next }
        }
    }
}

/// What a person is shown of an error; nothing of what they have cancelled. The id is what support finds the request by.
func sentence(for error: SessionError) -> String? {
    guard error != .cancelled, let text = error.errorDescription else { return nil }
    return error.requestID.map { "\(text) (\($0))" } ?? text
}
