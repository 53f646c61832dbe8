import AuthenticationServices
import CountersignClient
import Foundation
import SwiftUI
import UIKit

struct SignInView: View {
    let client: SignInClient
    let notice: String?
    /// For who is signed in already, and does it again.
    var done: @MainActor () -> Void = {}
    @State private var nonce: SignInNonce?
    @State private var ticket: LinkTicket?
    @State private var failure: String?
    /// Counts how often a nonce was asked for.
    @State private var attempt = 0

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
                // Without a nonce the service can't be reached, so that a sign-in would fail too.
                if failure != nil { Button("Try again") { attempt += 1 } }
                Button("Other ways to sign in") {
                    Task { await signInOnTheWeb() }
                }
            }
        }
        .task(id: attempt) { await keepNonce() }
    }

    /// A nonce lives ten minutes, and the view may be looked at for longer.
    private func keepNonce() async {
        do {
            while !Task.isCancelled {
                let next = try await client.makeNonce(for: .apple)
                (nonce, failure) = (next, nil)
                try await Task.sleep(
                    nanoseconds: UInt64(max(next.expiresAt.timeIntervalSinceNow - 60, 60)) * 1_000_000_000)
            }
        } catch let error as SessionError {
            (nonce, failure) = (nil, sentence(for: error))
        } catch {}
    }

    private func finish(_ result: Result<ASAuthorization, any Error>) async {
        guard case .success(let authorization) = result,
            let given = authorization.credential as? ASAuthorizationAppleIDCredential
        else { return }
        let credential = AppleCredential(given, nonce: nonce?.value)
        do { show(try await client.signIn(apple: credential)) } catch { failure = sentence(for: error) }
        // It was good once.
        attempt += 1
    }

    private func signInOnTheWeb() async {
        let windows = UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }.flatMap(\.windows)
        guard let window = windows.first(where: \.isKeyWindow) else { return }
        let attempt = await client.makeWebSignIn(
            app: "lamp", redirectURI: ExampleApp.redirectURI, languages: Locale.preferredLanguages)
        do { show(try await client.signIn(web: attempt, over: window)) } catch { failure = sentence(for: error) }
    }

    /// A sign-in shows by the session's state.
    private func show(_ outcome: SignInOutcome) {
        switch outcome {
        case .signedIn: done()
        case .linkRequired(let ticket): self.ticket = ticket
        }
    }
}
