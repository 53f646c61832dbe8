package import Accounts
import JOSE
import Logging
import Providers
import Storage

/// What a provider's SDK gave the phone.
package struct ProviderCredential: Sendable {
    package let token: String?
    package let code: String?
    /// The raw nonce.
    package let nonce: String?
    package let clientID: String?
    /// Handed over once, at first consent; unsigned user input.
    package let fullName: DisplayName?

    package init(token: String?, code: String?, nonce: String?, clientID: String?, fullName: DisplayName?) {
        self.token = token
        self.code = code
        self.nonce = nonce
        self.clientID = clientID
        self.fullName = fullName
    }
}

extension SignInService {
    /// Signs a known person in; gives an unknown one a link ticket.
    package func signIn(
        with provider: Provider, _ credential: ProviderCredential, client: Client
    ) async throws(SignInFailure) -> SignInAnswer {
        let now = clock.now()
        let identity = try await verify(credential, of: provider, client: client, at: now)
        let opening = try opening(
            authenticatedAt: identity.authenticatedAt, methods: [AuthenticationMethod(provider)], client: client,
            now: now)
        switch try await stored({ try await stores.identities.signIn(identity, opening: opening) }) {
        case .signedIn(let account, let identityID):
            return .signedIn(try signedIn(account, identityID: identityID, opening: opening))
        case .disabled:
            throw .accountDisabled
        case .unknown:
            return try await welcome(identity, fullName: credential.fullName, client: client, at: now)
        }
    }

    private func verify(
        _ credential: ProviderCredential, of provider: Provider, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> VerifiedIdentity {
        guard let token = credential.token else {
            throw .missingCredential(provider == .apple ? "identityToken" : "idToken")
        }
        let bytes = Array(token.utf8)
        do {
            // Nonces of ours are good once, and this one has not been issued or is spent.
            if credential.nonce?.hasPrefix("csn_") == true { throw CredentialRefusal(.nonceSpent) }
            switch provider {
            case .apple:
                guard let apple else { throw SignInFailure.providerDisabled }
                return try await apple.verify(
                    bytes, postedNonce: credential.nonce, expectedClientID: credential.clientID, at: now)
            case .google:
                guard let google else { throw SignInFailure.providerDisabled }
                return try await google.verify(
                    bytes, postedNonce: credential.nonce, expectedClientID: credential.clientID, at: now)
            }
        } catch let failure as SignInFailure {
            throw failure
        } catch let refusal as CredentialRefusal {
            logger.info(
                "credential rejected",
                metadata: [
                    "provider": "\(provider.rawValue)", "reason": "\(refusal.reason.rawValue)",
                    "requestId": "\(client.requestID)",
                ])
            guard refusal.reason != .keysUnavailable else {
                throw .providerUnavailable(retryAfter: refusal.retryAfter ?? 5)
            }
            throw .credentialRejected(refusal.reason, retryAfter: refusal.retryAfter)
        } catch {
            throw .fault(operation: "verify")
        }
    }

    /// An identity that nobody has linked: its owner chooses, unless the policy binds it by its address.
    private func welcome(
        _ identity: VerifiedIdentity, fullName: DisplayName?, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignInAnswer {
        let holder: EmailHolder? =
            if let candidate = identity.email?.candidate {
                try await stored {
                    try await stores.accounts.holder(
                        of: candidate, provider: identity.key.provider, realm: identity.key.realm)
                }
            } else {
                nil
            }
        let ticket = LinkTicket(
            identity: identity, displayName: fullName, createdAt: now,
            expiresAt: now.advanced(bySeconds: SignInService.ticketLifetime))
        let secret: OpaqueSecret
        do {
            secret = try OpaqueSecret()
        } catch {
            throw .fault(operation: "random")
        }
        try await stored { try await stores.links.insert(ticket, hash: secret.hash) }
        switch Linking.decide(identity, holder: holder, policy: configuration.verifiedEmailPolicy) {
        case .linkRequired(let choices):
            return .linkRequired(
                LinkRequired(
                    linkTicket: secret.text, expiresAt: ticket.expiresAt, identity: identity, choices: choices))
        case .bindAutomatically(let accountID):
            let proof = BindProof(
                accountID: accountID, authenticatedAt: identity.authenticatedAt, methods: [])
            return .signedIn(try await bind(secret.hash, proof: proof, client: client, at: now))
        }
    }
}
