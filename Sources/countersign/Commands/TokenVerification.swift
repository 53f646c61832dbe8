import Accounts
import JOSE
import JSON
import Providers

/// Judges one token, and says so in one line of JSON.
struct TokenVerification: Sendable {
    let rules: TokenRules
    let nonce: String?
    /// Nil is now, whenever that is.
    let time: Timestamp?

    struct Verdict: Sendable {
        let isValid: Bool
        /// With its line feed.
        let line: [UInt8]
    }

    func verdict(on token: [UInt8]) async -> Verdict {
        do {
            switch rules {
            case .signature(let keys):
                try await verifySignature(of: token, keys)
                return Verdict(isValid: true) { $0.member("valid", true) }
            case .identity(let provider):
                let credential = try await provider.credential(
                    token, postedNonce: nonce, expectedClientID: nil, at: time ?? SystemClock().now())
                return Verdict(isValid: true) { line in
                    line.member("valid", true)
                    line.member("subject", credential.identity.key.subject.text)
                    if let email = credential.identity.email { line.member("email", email.address.text) }
                    line.member("emailVerified", credential.identity.email?.isVerified ?? false)
                    line.member("claims", credential.claims)
                }
            }
        } catch {
            return Verdict(isValid: false) { line in
                line.member("valid", false)
                line.member("reason", error.reason.rawValue)
            }
        }
    }

    /// Any compact JWS that can be signed by a key set's key, whatever kind of token it says it is.
    private func verifySignature(of token: [UInt8], _ source: KeySource) async throws(CredentialRefusal) {
        do throws(TokenRejection) {
            let unverified = try UnverifiedToken(
                token, allowedTypes: ["JWT", "JOSE", "at+jwt", "secevent+jwt"], allowsEmptyPayload: true)
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

extension TokenVerification.Verdict {
    fileprivate init(isValid: Bool, _ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.beginObject()
        members(&writer)
        writer.endObject()
        self.init(isValid: isValid, line: writer.bytes + [0x0A])
    }
}
