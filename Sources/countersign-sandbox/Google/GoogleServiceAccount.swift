import JOSE
import JSON
import OpenSSL

/// A service account of the project, which authenticates to Google's API by tokens that it signs itself.
struct GoogleServiceAccount: Sendable {
    let email: String
    /// Public keys by key id.
    var keys: [String: PublicKey] = [:]
    /// Whether it has `roles/riscconfigs.admin`.
    var hasRole = true

    /// The `aud` required of every bearer, whatever the sandbox's address.
    static let audience = "https://risc.googleapis.com/google.identity.risc.v1beta.RiscManagementService"
    /// Seconds from `iat` to `exp`, exactly.
    static let lifetime: Int64 = 3600

    /// The account that signed this bearer, an RS256 token.
    ///
    /// Google documents no tolerance for clocks, so there is none: `iat` must not be in the future and `exp` must be.
    static func account(
        of authorization: String?, among accounts: [GoogleServiceAccount], at now: Int64
    ) throws(StreamRefusal) -> GoogleServiceAccount {
        guard let authorization, authorization.hasPrefix("Bearer ") else {
            throw .unauthenticated("there is no bearer")
        }
        let token: UnverifiedToken
        do throws(TokenRejection) {
            token = try UnverifiedToken(Array(authorization.dropFirst(7).utf8), allowedAlgorithms: [.rs256])
        } catch {
            throw .unauthenticated("not an RS256 token with a key id")
        }
        let keyID = String(decoding: token.keyID, as: UTF8.self)
        guard let account = accounts.first(where: { $0.keys[keyID] != nil }), let key = account.keys[keyID] else {
            throw .unauthenticated("kid is no key of a service account")
        }
        guard let claims = try? token.verified(by: key).claims else {
            throw .unauthenticated("the signature does not hold")
        }
        for name in ["iss", "sub"] where claims[name]?.isString(equalTo: account.email) != true {
            throw .unauthenticated("\(name) is not the service account")
        }
        guard claims["aud"]?.isString(equalTo: audience) == true else { throw .unauthenticated("aud is not the API") }
        guard let issued = claims["iat"]?.date?.seconds, let end = claims["exp"]?.date?.seconds else {
            throw .unauthenticated("iat or exp is missing")
        }
        guard end.subtractingReportingOverflow(issued) == (lifetime, false) else {
            throw .unauthenticated("exp is not an hour after iat")
        }
        guard issued <= now, now < end else { throw .unauthenticated("iat is ahead or exp is over") }
        return account
    }

    var json: JSONObject { ["email": email, "keyIds": keys.keys.sorted(), "role": hasRole] }
}
