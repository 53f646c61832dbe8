import CountersignClient
import Foundation
import SwiftUI

/// The account and its devices, and what their person can do with them.
struct AccountView: View {
    let client: SignInClient
    @State private var account: ClientAccount?
    @State private var devices: [SignedInDevice] = []
    @State private var failure: String?
    @State private var isDeleting = false
    /// What the service wants a fresh sign-in for; it is done after that, if the same person has signed in.
    @State private var waiting: Waiting?
    /// What another identity has brought in place of a fresh sign-in.
    @State private var ticket: LinkTicket?

    enum Act {
        case unlink(identity: String)
        case delete
    }

    struct Waiting {
        let act: Act
        let accountID: String
    }

    var body: some View {
        VStack {
            if let account {
                Text(account.displayName ?? account.email ?? "Signed in")
                if account.emailTakenAt != nil { Text("Somebody else reads your former address now.") }
                if let replacement = account.emailReplacement {
                    Text("Support is about to replace your address by \(replacement.maskedEmail).")
                    Button("Stop that") { Task { await stopReplacement() } }
                }
                List {
                    ForEach(account.identities) { identity in
                        Text("\(identity.provider.rawValue): \(identity.email ?? "no address")")
                        if identity.isBlocked { Text("It is disabled at its provider. Sign in another way.") }
                        if identity.isCredentialChangeRequired { Text("Change your password there.") }
                        Button("Unlink") { Task { await perform(.unlink(identity: identity.id)) } }
                    }
                    ForEach(devices) { device in
                        Text(device.isCurrent ? "This device" : device.name ?? device.platform ?? "A device")
                        if !device.isCurrent { Button("Sign out") { Task { await signOut(device) } } }
                    }
                }
            }
            if let failure { Text(failure) }
            if waiting != nil {
                // Signed in again, the same client has a fresh session.
                SignInView(client: client, notice: nil, ticket: $ticket) { account in
                    Task { await resume(as: account) }
                }
                Button("Not now") { waiting = nil }
            } else if isDeleting {
                Text("Your account and all that is in it will be gone.")
                Button("Delete my account") { Task { await perform(.delete) } }
                Button("Keep it") { isDeleting = false }
            } else {
                Button("Sign out") { Task { await signOut() } }
                Button("Delete account…") { isDeleting = true }
            }
        }
        .task { await load() }
    }

    private func load() async {
        do {
            account = try await client.account()
            devices = try await client.devices()
        } catch { failure = sentence(for: error) }
    }

    private func perform(_ act: Act) async {
        guard let accountID = account?.id else { return await load() }
        do throws(SessionError) {
            switch act {
            case .unlink(let id): try await client.unlink(identity: id)
            case .delete: return try await client.deleteAccount()  // `RootView` sees that nobody is signed in any more.
            }
            await load()
        } catch .refused("reauthentication_required", _, _) {
            waiting = Waiting(act: act, accountID: accountID)
        } catch { failure = sentence(for: error) }
    }

    private func resume(as signedIn: ClientAccount) async {
        guard let waited = waiting else { return }
        (waiting, isDeleting, account) = (nil, false, signedIn)
        guard signedIn.id == waited.accountID else {
            failure = "You have signed in to another account. Nothing was done."
            return await load()
        }
        await perform(waited.act)
    }

    private func signOut(_ device: SignedInDevice) async {
        do { try await client.signOut(device: device.id) } catch { failure = sentence(for: error) }
        await load()
    }

    private func stopReplacement() async {
        do { try await client.cancelEmailReplacement() } catch { failure = sentence(for: error) }
        await load()
    }

    /// This phone has forgotten the session also when the service could not be reached.
    private func signOut() async {
        do { try await client.signOut() } catch { failure = sentence(for: error) }
    }
}
