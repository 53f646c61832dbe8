import CountersignClient
import Foundation
import SwiftUI

/// The identity is new: the person makes an account of it, or shows that one is theirs.
struct LinkView: View {
    let client: SignInClient
    let ticket: LinkTicket
    /// Lets the person sign in to the account that is theirs; nil when they have: it is proven by the session.
    let signIn: (@MainActor () -> Void)?
    /// Another ticket to show, or none: the person is signed in, or begins again.
    let proceed: @MainActor (LinkTicket?) -> Void
    /// For who is signed in by it.
    var done: @MainActor (ClientAccount) -> Void = { _ in }
    @State private var email = ""
    @State private var code = ""
    @State private var password = ""
    @State private var failure: String?
    /// The one that the person is signed in to.
    @State private var account: ClientAccount?
    /// The proof that was right, and the other identity of this kind that stands in its way.
    @State private var conflict: (proof: BindProof, maskedEmail: String?)?
    /// Whether a call is under way: a second tap would send it twice.
    @State private var isSending = false
    /// Whether the ticket is good for nothing more.
    @State private var isOver = false

    var body: some View {
        VStack(spacing: 16) {
            if let failure { Text(failure) }
            if !isOver { choices }
            Button(isOver ? "Close" : "Cancel") {
                send {
                    await client.cancel(ticket)
                    proceed(nil)
                }
            }
        }
        .disabled(isSending)
        .task {
            email = ticket.email ?? ""
            if signIn == nil { await loadAccount() }
        }
    }

    private var choices: some View {
        VStack(spacing: 16) {
            if let conflict {
                Text("Your account has another sign-in of this kind: \(conflict.maskedEmail ?? "without an address").")
                Button("Replace it") { send { await bind(conflict.proof, replacing: true) } }
                Button("Keep it") { self.conflict = nil }
            } else if signIn == nil {
                Text("You’re signed in as \(account?.displayName ?? account?.email ?? "…").")
                Text("Open this account with \(ticket.provider.rawValue) too?")
                Button("Yes") { send { await bind(.session) } }.disabled(account == nil)
            } else {
                if let holder = ticket.holder { Text(ways(into: holder)) }
                // In the server's order: its suggestion comes first.
                if ticket.choices.first == .create { create }
                if ticket.choices.contains(.bind) { bind }
                if ticket.choices.dropFirst().contains(.create) { create }
            }
        }
    }

    private var create: some View {
        Button("I’m new here") { send { await makeAccount() } }
    }

    private var bind: some View {
        VStack {
            if ticket.provesHolder {
                // The ticket is proof enough, also after a right code: one question is left.
                Text("Is this your account?")
                Button("Yes, it’s mine") { send { await bind(.ticket) } }
            } else {
                if let signIn { Button("Sign in to it", action: signIn) }
                TextField("Your account’s address", text: $email)
                TextField("Password", text: $password)
                Button("Use my password") { send { await bind(.password(email: email, password: password)) } }
                Button("Mail me a code") { send { await requestCode() } }
                TextField("Code", text: $code)
                Button("Use the code") { send { await bind(.emailCode(email: email, code: code)) } }
            }
        }
    }

    private func send(_ call: @escaping @MainActor () async -> Void) {
        guard !isSending else { return }
        isSending = true
        Task {
            await call()
            isSending = false
        }
    }

    private func loadAccount() async {
        do { account = try await client.account() } catch { failure = sentence(for: error) }
    }

    private func makeAccount() async {
        do {
            let account = try await client.create(ticket)
            proceed(nil)
            done(account)
        } catch { report(error) }
    }

    private func requestCode() async {
        do { try await client.requestCode(to: email, for: ticket) } catch {
            failure = sentence(for: error)
            if case .refused("link_ticket_expired", _, _) = error { isOver = true }
        }
    }

    private func bind(_ proof: BindProof, replacing: Bool = false) async {
        do {
            switch try await client.bind(ticket, proof: proof, replacing: replacing) {
            case .signedIn(let account):
                proceed(nil)
                done(account)
            case .holder(let shown): proceed(shown)
            case .conflict(let maskedEmail): conflict = (proof, maskedEmail)
            }
        } catch { report(error) }
    }

    private func report(_ error: SessionError) {
        failure = sentence(for: error)
        switch error {
        // The ticket is used or has expired.
        case .refused("link_ticket_expired", _, _), .refused("identity_already_linked", _, _): isOver = true
        // It may be: the call may have been done, and is not sent again.
        case .transient, .cancelled, .storage: isOver = true
        default: break
        }
    }

    private func ways(into holder: LinkHolder) -> String {
        let address = ticket.email ?? "This address"
        let ways =
            ticket.provesHolder
            ? holder.identities.map { "\($0.provider.rawValue) \($0.maskedEmail ?? "")" }
            : holder.providers.map(\.rawValue)
        guard !ways.isEmpty else {
            let made = holder.createdAt.map { ", made on \($0.formatted(date: .long, time: .omitted))" } ?? ""
            return "\(address) belongs to an account without Apple or Google\(made)."
        }
        return "\(address) belongs to an account that is entered by \(ways.joined(separator: ", "))."
    }
}
