import JOSE
import JSON
import OpenSSL

/// A `client_secret`: an ES256 token by which a client authenticates with a key of its team.
enum AppleClientSecret {
    /// The required `aud`, whatever the sandbox's address and the issuer of its tokens.
    static let audience = "https://appleid.apple.com"
    /// The longest lifetime that Apple accepts, in seconds: about half a year.
    static let maximumLifetime: Int64 = 15_777_000

    /// The team whose key signed the secret, if its claims are valid too.
    ///
    /// Apple documents no tolerance for clocks, so there is none: `iat` must not be in the future and `exp` must be.
    ///
    /// - Parameter teams: the teams whose keys may sign for the client.
    static func team(
        of text: String, clientID: String, teams: [AppleTeam], at now: Int64
    ) throws(EndpointRefusal) -> String {
        func refused(_ reason: String) -> EndpointRefusal { .apple(.invalidClient, "client_secret: " + reason) }

        let token: UnverifiedToken
        do throws(TokenRejection) {
            token = try UnverifiedToken(Array(text.utf8), allowedAlgorithms: [.es256])
        } catch {
            throw refused("not an ES256 token with a key id")
        }
        let keyID = String(decoding: token.keyID, as: UTF8.self)
        let candidates = teams.compactMap { team in team.liveKey(keyID).map { (team.id, $0) } }
        guard !candidates.isEmpty else { throw refused("kid is no live key of the client's team") }
        for (team, key) in candidates {
            guard let claims = try? token.verified(by: key).claims else { continue }
            guard claims["iss"]?.isString(equalTo: team) == true else { throw refused("iss is not the team") }
            guard claims["sub"]?.isString(equalTo: clientID) == true else { throw refused("sub is not client_id") }
            guard claims["aud"]?.isString(equalTo: audience) == true else { throw refused("aud is not Apple") }
            guard let issued = claims["iat"]?.date?.seconds, issued <= now else {
                throw refused("iat is missing or ahead")
            }
            guard let end = claims["exp"]?.date?.seconds, end > now else { throw refused("exp is missing or over") }
            guard end - now <= maximumLifetime else { throw refused("exp is too far ahead") }
            return team
        }
        throw refused("the signature does not hold")
    }
}
