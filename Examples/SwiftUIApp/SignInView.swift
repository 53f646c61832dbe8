import AuthenticationServices
import CountersignClient
import Foundation
import SwiftUI
import UIKit

struct SignInView: View {
    let client: SignInClient
    let notice: String?
    @State private var nonce: SignInNonce?
    @State private var ticket: LinkTicket?
    @State private var failure: String?

    var body: some View {
        VStack(spacing: 16) {
            if let notice { Text(notice) }
            if let failure { Text(failure) }
            if let ticket {
                LinkView(client: client, ticket: ticket) { self.ticket = $0 }
            } else {
                // The button asks for the request at once, so the nonce is there before it works.
                SignInWithAppleButton(.signIn) { request in
                    if let nonce { request.prepare(with: nonce) }
                } onCompletion: { result in
                    Task { await finish(result) }
                }
                .frame(height: 48)
                .disabled(nonce == nil)
                Button("Other ways to sign in") {
                    Task { await signInOnTheWeb() }
                }
            }
        }
        .task { await renewNonce() }
    }

    private func renewNonce() async {
        do { nonce = try await client.makeNonce(for: .apple) } catch { failure = sentence(for: error) }
    }

    private func finish(_ result: Result<ASAuthorization, any Error>) async {
        guard case .success(let authorization) = result,
            let given = authorization.credential as? ASAuthorizationAppleIDCredential
        else { return }
        let credential = AppleCredential(given, nonce: nonce?.value)
        do { show(try await client.signIn(apple: credential)) } catch { failure = sentence(for: error) }
        // It was good once.
        await renewNonce()
    }

    private func signInOnTheWeb() async {
        let windows = UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }.flatMap(\.windows)
        guard let window = windows.first(where: \.isKeyWindow) else { return }
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: ExampleApp.redirectURI)
        do { show(try await client.signIn(web: attempt, over: window)) } catch { failure = sentence(for: error) }
    }

    /// A sign-in shows by the session's state.
    private func show(_ outcome: SignInOutcome) {
        if case .linkRequired(let ticket) = outcome { self.ticket = ticket }
    }
}
