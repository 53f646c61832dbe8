import Accounts
import JOSE
import JSON
import OpenSSL

/// A service account of the Google Cloud project, by its JSON key file as the console issues it. It signs its own bearer
/// tokens for Google's APIs.
package struct GoogleServiceAccount: Sendable {
    /// The reason why a file is not the key of a service account. Names members, never their values.
    package enum Fault: Error, Sendable, Equatable {
        case notJSON
        /// `type` is not `service_account`: the file of an OAuth client, for example.
        case notServiceAccount
        case missing(member: String)
        /// `private_key` is not one unencrypted PKCS#8 block with an RSA key of at least 2048 bits.
        case unusableKey
    }

    /// The audience of the tokens, whatever URL the requests go to.
    static let audience = "https://risc.googleapis.com/google.identity.risc.v1beta.RiscManagementService"
    /// Seconds from `iat` to `exp`, exactly.
    static let lifetime: Int64 = 3_600
    /// Seconds by which `iat` is set back, since our clock may run ahead of Google's.
    static let backdating: Int64 = 60

    package let email: String
    package let keyID: String
    private let signer: TokenSigner

    /// - Parameter file: the file's bytes. Members that are not needed here are ignored.
    package init(parsing file: [UInt8]) throws(Fault) {
        guard let document = try? JSONValue(parsing: file), document.kind == .object else { throw .notJSON }
        guard document["type"]?.isString(equalTo: "service_account") == true else { throw .notServiceAccount }
        func text(_ member: String) throws(Fault) -> String {
            guard let text = document[member]?.string, 1...255 ~= text.utf8.count,
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw .missing(member: member) }
            return text
        }
        email = try text("client_email")
        keyID = try text("private_key_id")
        guard var pem = document["private_key"]?.stringBytes else { throw .missing(member: "private_key") }
        defer { cleanse(&pem) }
        guard let key = try? RSAPrivateKey(pem: pem) else { throw .unusableKey }
        signer = TokenSigner(key: key, keyID: keyID, type: "JWT")
    }

    /// The bearer token that authenticates this account to Google's RISC API, for an hour.
    func bearer(at now: Timestamp) throws(OpenSSLError) -> String {
        let issuedAt = now.seconds - Self.backdating
        let claims = JSONWriter.object { claims in
            claims.member("iss", email)
            claims.member("sub", email)
            claims.member("aud", Self.audience)
            claims.member("iat", issuedAt)
            claims.member("exp", issuedAt + Self.lifetime)
        }
        return try signer.sign(claims)
    }
}

extension GoogleServiceAccount: CustomStringConvertible {
    package var description: String { "GoogleServiceAccount(\(email), key \(keyID))" }
}
