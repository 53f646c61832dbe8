import Accounts
import JOSE
import JSON
import Providers

/// The verification of a token, with a line of JSON as its result.
struct TokenVerification: Sendable {
    let rules: TokenRules
    let nonce: String?
    /// The time to verify at; nil is the current time of each verification.
    let time: Timestamp?

    struct Report: Sendable {
        let isValid: Bool
        /// A JSON object and a line feed.
        let line: [UInt8]
    }

    func report(on token: [UInt8]) async -> Report {
        do {
            switch rules {
            case .signature(let keys):
                try await verifySignature(of: token, keys)
                return Report(isValid: true) { $0.member("valid", true) }
            case .identity(let provider):
                let credential = try await provider.credential(
                    token, postedNonce: nonce, expectedClientID: nil, at: time ?? SystemClock().now())
                return Report(isValid: true) { line in
                    line.member("valid", true)
                    line.member("subject", credential.identity.key.subject.text)
                    if let email = credential.identity.email { line.member("email", email.address.text) }
                    line.member("emailVerified", credential.identity.email?.isVerified ?? false)
                    line.member("claims", credential.claims)
                }
            }
        } catch {
            return Report(isValid: false) { line in
                line.member("valid", false)
                line.member("reason", error.reason.rawValue)
            }
        }
    }

    /// Verifies the signature alone, for every type of token that keys of a key set sign.
    private func verifySignature(of token: [UInt8], _ source: KeySource) async throws(CredentialRefusal) {
        do throws(TokenRejection) {
            let unverified = try UnverifiedToken(token, allowedTypes: nil, allowsEmptyPayload: true)
            try unverified.verifiedSignature(by: await keys(of: source, for: unverified.keyID))
        } catch {
            throw CredentialRefusal(error)
        }
    }

    private func keys(of source: KeySource, for keyID: [UInt8]) async throws(TokenRejection) -> KeySet {
        switch source {
        case .fixed(let keys):
            return keys
        case .cache(let cache):
            do throws(CredentialRefusal) {
                return try await cache.keys(for: keyID)
            } catch {
                throw error.reason
            }
        }
    }
}

extension TokenVerification.Report {
    fileprivate init(isValid: Bool, _ members: (inout JSONWriter) -> Void) {
        self.init(isValid: isValid, line: JSONWriter.object(members) + [0x0A])
    }
}
