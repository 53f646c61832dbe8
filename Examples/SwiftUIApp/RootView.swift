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
            case .ended(let code): SignInView(client: client, notice: "The session has ended (\(code)).")
            }
        }
        .padding()
        .task {
            for await next in client.states { state = next }
        }
    }
}

struct AccountView: View {
    let client: SignInClient
    @State private var account: ClientAccount?
    @State private var failure: String?

    var body: some View {
        VStack {
            if let account {
                Text(account.displayName ?? account.email ?? "Signed in")
                if account.emailTakenAt != nil { Text("Somebody else reads your former address now.") }
                if let replacement = account.emailReplacement {
                    Text("Support is about to replace your address by \(replacement.maskedEmail).")
                }
                List {
                    ForEach(account.identities) { identity in
                        Text("\(identity.provider.rawValue): \(identity.email ?? "no address")")
                        if identity.isBlocked { Text("It is disabled at its provider. Sign in another way.") }
                        if identity.isCredentialChangeRequired { Text("Change your password there.") }
                    }
                }
            }
            if let failure { Text(failure) }
            Button("Sign out") { Task { await signOut() } }
        }
        .task { await load() }
    }

    private func load() async {
        do { account = try await client.account() } catch { failure = sentence(for: error) }
    }

    /// This phone has forgotten the session also when the service could not be reached.
    private func signOut() async {
        do { try await client.signOut() } catch { failure = sentence(for: error) }
    }
}

/// What a person is shown; `RootView` follows the end of the session by itself.
func sentence(for error: SessionError) -> String {
    switch error {
    case .transient: "The service can't be reached. Please try again."
    case .reauthenticate, .noSession: "Please sign in."
    case .cancelled: ""
    case .refused(let code, _): "That was refused (\(code))."
    case .insecureRequest, .storage: "This app can't keep a session on this device."
    }
}
