import AuthenticationServices
import CountersignClient
import Foundation
import SwiftUI
import UIKit

struct SignInView: View {
    let client: SignInClient
    let notice: String?
    /// Of an identity that is new.
    @Binding var ticket: LinkTicket?
    /// For who is signed in already, and does it again; perhaps as another person.
    var done: @MainActor (ClientAccount) -> Void = { _ in }
    /// For the next request.
    @State private var nonce: SignInNonce?
    /// That of the request which was made: another one may be there before Apple's sheet is closed.
    @State private var sent: SignInNonce?
    /// The person signs in to the account that they bind the ticket's identity to.
    @State private var isProving = false
    @State private var failure: String?
    /// Why there is no nonce.
    @State private var nonceFailure: String?
    /// Counts how often a nonce was asked for.
    @State private var attempt = 0
    @Environment(\.scenePhase) private var scenePhase

    var body: some View {
        VStack(spacing: 16) {
            if let notice { Text(notice) }
            if let failure { Text(failure) }
            if let nonceFailure { Text(nonceFailure) }
            if let ticket, !isProving {
                LinkView(
                    client: client, ticket: ticket, signIn: { isProving = true }, proceed: { self.ticket = $0 },
                    done: done)
            } else {
                if isProving {
                    Text("Sign in the way you did before.")
                    Button("Back") { isProving = false }
                }
                // The button asks for the request at once, so the nonce is there before it works.
                SignInWithAppleButton(.signIn) { request in
                    guard let nonce else { return }
                    request.prepare(with: nonce)
                    sent = nonce
                } onCompletion: { result in
                    Task { await finish(result) }
                }
                .frame(height: 48)
                .disabled(nonce == nil)
                // Without a nonce the service can't be reached, so that a sign-in would fail too.
                if nonceFailure != nil { Button("Try again") { attempt += 1 } }
                Button("Other ways to sign in") {
                    Task { await signInOnTheWeb() }
                }
            }
        }
        .task(id: attempt) { await keepNonce() }
        // A task does not count the time that the device sleeps.
        .onChange(of: scenePhase) { phase in
            if phase == .active, nonce.map({ $0.expiresAt <= Date() }) ?? false { attempt += 1 }
        }
    }

    /// A nonce lives ten minutes, and the view may be looked at for longer.
    private func keepNonce() async {
        nonce = nil
        do {
            while !Task.isCancelled {
                let next = try await client.makeNonce(for: .apple)
                (nonce, nonceFailure) = (next, nil)
                try await Task.sleep(
                    nanoseconds: UInt64(max(next.expiresAt.timeIntervalSinceNow - 60, 60)) * 1_000_000_000)
            }
        } catch let error as SessionError {
            (nonce, nonceFailure) = (nil, sentence(for: error))
        } catch {}
    }

    private func finish(_ result: Result<ASAuthorization, any Error>) async {
        guard case .success(let authorization) = result,
            let given = authorization.credential as? ASAuthorizationAppleIDCredential
        else { return }
        failure = nil
        let credential = AppleCredential(given, nonce: sent?.value)
        do { show(try await client.signIn(apple: credential)) } catch { failure = sentence(for: error) }
        // It was good once.
        attempt += 1
    }

    private func signInOnTheWeb() async {
        let windows = UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }.flatMap(\.windows)
        guard let window = windows.first(where: \.isKeyWindow) else { return }
        let attempt = await client.makeWebSignIn(
            app: "lamp", redirectURI: ExampleApp.redirectURI, languages: Locale.preferredLanguages)
        failure = nil
        do { show(try await client.signIn(web: attempt, over: window)) } catch { failure = sentence(for: error) }
    }

    /// A sign-in shows by the session's state.
    private func show(_ outcome: SignInOutcome) {
        switch outcome {
        case .signedIn(let account): done(account)
        case .linkRequired(let ticket):
            self.ticket = ticket
            isProving = false
        }
    }
}
