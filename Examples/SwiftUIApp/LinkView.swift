import CountersignClient
import Foundation
import SwiftUI

/// The identity is new: the person makes an account of it, or proves the one that they have.
struct LinkView: View {
    let client: SignInClient
    let ticket: LinkTicket
    /// Another ticket to show, or none: the person is signed in, or begins again.
    let proceed: @MainActor (LinkTicket?) -> Void
    @State private var code = ""
    @State private var failure: String?

    var body: some View {
        VStack(spacing: 16) {
            if let failure { Text(failure) }
            if let holder = ticket.holder {
                Text("\(ticket.email ?? "This address") belongs to an account that is entered by \(names(holder)).")
            }
            // In the server's order: its suggestion comes first.
            if ticket.choices.first == .create { create }
            if ticket.choices.contains(.bind) { bind }
            if ticket.choices.dropFirst().contains(.create) { create }
            Button("Cancel") {
                Task {
                    await client.cancel(ticket)
                    proceed(nil)
                }
            }
        }
    }

    private var create: some View {
        Button("Make a new account") { Task { await makeAccount() } }
    }

    private var bind: some View {
        VStack {
            if ticket.provesHolder {
                Button("It is mine") { Task { await bind(.ticket) } }
            } else if let email = ticket.email {
                Button("Mail me a code") { Task { await requestCode(email) } }
                TextField("Code", text: $code)
                Button("It is mine") { Task { await bind(.emailCode(email: email, code: code)) } }
            }
        }
    }

    private func makeAccount() async {
        do {
            _ = try await client.create(ticket)
            proceed(nil)
        } catch { report(error) }
    }

    private func requestCode(_ email: String) async {
        do { try await client.requestCode(to: email, for: ticket) } catch { report(error) }
    }

    private func bind(_ proof: BindProof) async {
        do {
            switch try await client.bind(ticket, proof: proof) {
            case .signedIn: proceed(nil)
            case .holder(let shown): proceed(shown)
            case .conflict(let maskedEmail):
                failure =
                    "That account has another identity of this kind already: \(maskedEmail ?? "without an address")."
            }
        } catch { report(error) }
    }

    private func report(_ error: SessionError) {
        failure = sentence(for: error)
        // The ticket is used or has expired.
        if case .refused("link_ticket_expired", _) = error { proceed(nil) }
    }

    private func names(_ holder: LinkHolder) -> String {
        holder.providers.map(\.rawValue).joined(separator: ", ")
    }
}
