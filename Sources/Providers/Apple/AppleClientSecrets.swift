import Accounts
import JOSE
import JSON
import Synchronization

/// The client secrets of one team, each made when it is needed and reused while it is recent.
///
/// Apple has no fixed secrets: each is a token of ours that names team and client and is signed with the team's key. They
/// are never stored and never logged.
final class AppleClientSecrets: Sendable {
    /// Seconds from `iat` to `exp`. Apple accepts half a year; a stolen secret is to be useless the next day.
    static let lifetime: Int64 = 3_600
    /// Seconds by which `iat` is set back, since our clock may run ahead of Apple's.
    static let backdating: Int64 = 900
    /// Seconds for which a secret is reused. It then has as many left as it is set back, more than the error of any clock
    /// that works.
    static let renewal: Int64 = 1_800
    /// The audience of the secrets, whatever URL the requests go to.
    static let audience = "https://appleid.apple.com"

    private struct Secret {
        let text: String
        let madeAt: Int64
    }

    private let teamID: String
    private let signer: TokenSigner
    /// The secrets in use.
    private let secrets = Mutex<[ProviderClientID: Secret]>([:])

    init(team: AppleTokenEndpoint.Configuration.Team) {
        teamID = team.teamID
        signer = TokenSigner(key: team.privateKey, keyID: team.keyID)
    }

    /// - Parameter clientID: one of the team's, so that there are no more secrets than those.
    func secret(for clientID: ProviderClientID, at now: Timestamp) throws(EndpointRefusal) -> String {
        let now = now.seconds
        // Under the lock: signing takes less time than letting other callers wait for the one that signs.
        return try secrets.withLock { secrets throws(EndpointRefusal) in
            // A secret from the future was made before the clock was set back: it isn't valid yet.
            if let known = secrets[clientID], known.madeAt <= now, now - known.madeAt < Self.renewal {
                return known.text
            }
            let made = Secret(text: try sign(for: clientID, at: now), madeAt: now)
            secrets[clientID] = made
            return made.text
        }
    }

    /// Seconds since the oldest secret in use was made; `nil` when there is none.
    func age(at now: Timestamp) -> Int64? {
        let now = now.seconds
        return secrets.withLock { secrets in
            secrets.values.map { now - $0.madeAt }.filter { 0..<Self.renewal ~= $0 }.max()
        }
    }

    private func sign(for clientID: ProviderClientID, at now: Int64) throws(EndpointRefusal) -> String {
        let issuedAt = now - Self.backdating
        let claims = JSONWriter.object { claims in
            claims.member("iss", teamID)
            claims.member("iat", issuedAt)
            claims.member("exp", issuedAt + Self.lifetime)
            claims.member("aud", Self.audience)
            claims.member("sub", clientID.text)
        }
        do {
            return try signer.sign(claims)
        } catch {
            throw .unavailable(detail: "signing")
        }
    }
}
