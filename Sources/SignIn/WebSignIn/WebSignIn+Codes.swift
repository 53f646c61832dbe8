package import Accounts
import Logging
import OpenSSL
import Primitives
import Storage

/// The exchange of a flow's code by its app (`POST /v1/sign-in/web`).
extension WebSignIn {
    /// Spends the code, whatever comes of it, and decides on the account as any other sign-in does.
    ///
    /// - Parameters:
    ///   - codeVerifier: of the challenge with which the app opened the flow (RFC 7636 §4.5).
    ///   - redirectURI: to which the code was handed over.
    package func exchange(
        code: String, codeVerifier: String, redirectURI: String, by call: Call
    ) async throws(SignInFailure) -> SignInAnswer {
        try await steps.counting(.exchange) { () throws(SignInFailure) in
            guard let hash = OpaqueSecret.hash(ofPresented: code) else { throw refusal(.codeUnknown, by: call) }
            let outcome = try await stored {
                try await store.spend(hash, by: call) { [issuer = tickets.issuer] challenge, requestedURI in
                    guard constantTimeEquals(CodeChallenge.s256(ofPresented: codeVerifier), challenge),
                        requestedURI.hasSameBytes(as: redirectURI)
                    else { return false }
                    try issuer.requireSigner(by: call)
                    return true
                }
            }
            switch outcome {
            case .unknown: throw refusal(.codeUnknown, by: call)
            case .notTheirs: throw refusal(.verifierMismatch, by: call)
            case .reused: throw refusal(.codeSpent, by: call)
            case .spent(let id, let person):
                let answer = try await decide(on: person, by: call)
                await note(answer, of: id, by: call)
                return answer
            }
        }
    }

    private func decide(on person: ProvenPerson, by call: Call) async throws(SignInFailure) -> SignInAnswer {
        do throws(SignInFailure) {
            return try await persons.signIn(person, by: call)
        } catch .invalidCredentials {
            // What was proven on the page has changed since: the password, or the mailed code was used.
            throw refusal(.proofChanged, by: call)
        }
    }

    /// Keeps what the code has opened.
    private func note(_ answer: SignInAnswer, of id: WebFlowID, by call: Call) async {
        let made: MadeByWebCode
        switch answer {
        case .signedIn(let signedIn): made = .session(signedIn.session.id, of: signedIn.account.id)
        case .linkRequired(let link):
            guard let hash = OpaqueSecret.hash(ofPresented: link.linkTicket) else { return }
            made = .ticket(hash)
        }
        do {
            try await store.note(made, of: id, by: call)
        } catch {
            // The sign-in has succeeded; a second use of the code is refused, and ends nothing.
            logger.warning(
                "what a code opened was not noted",
                metadata: ["flowId": "\(id)", "error": "\(String(reflecting: error))"])
        }
    }

    private func refusal(_ reason: WebRejection, by call: Call) -> SignInFailure {
        note(reason, by: call)
        return .webCodeRejected
    }
}
