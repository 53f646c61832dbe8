import CountersignClient
import SwiftUI

/// Shows what the session's state asks for.
struct RootView: View {
    let client: SignInClient
    @State private var state: SessionState?

    var body: some View {
        VStack {
            switch state {
            case nil: ProgressView()
            case .signedIn: AccountView(client: client)
            case .signedOut: SignInView(client: client, notice: nil)
            case .ended: SignInView(client: client, notice: SessionError.noSession.errorDescription)
            }
        }
        .padding()
        .task {
            for await next in client.states { state = next }
        }
    }
}

/// What a person is shown of an error; nothing of what they have cancelled. The id is what support finds the request by.
func sentence(for error: SessionError) -> String? {
    guard error != .cancelled, let text = error.errorDescription else { return nil }
    return error.requestID.map { "\(text) (\($0))" } ?? text
}
