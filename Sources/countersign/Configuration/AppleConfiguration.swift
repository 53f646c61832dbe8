import Foundation
import OpenSSL
import Primitives
import Providers

/// Sign in with Apple, for one or several teams or environments.
struct AppleConfiguration: Sendable {
    struct Team: Sendable {
        /// The realm of its identities: an Apple `sub` means something within one team only.
        let name: String
        /// The Services ID is one of them.
        let clientIDs: [String]
        /// The client of the web sign-in.
        let servicesID: String?
        /// Absent: identity tokens alone, no codes and no revocation.
        let signing: Signing?
    }

    /// The key that signs client secrets, and its ids.
    struct Signing: Sendable {
        let teamID: String
        let keyID: String
        let privateKey: P256PrivateKey
        /// The modification time of its file.
        let keyWrittenAt: Date?
    }

    let teams: [Team]
    let redirectURIs: [String]
    let issuers: [String]
    let keysURL: String
    let tokenURL: String
    let revokeURL: String
    let userMigrationURL: String
    let authorizeURL: String
    let nonceForm: NonceForm

    /// Nil when no `apple.*` key is set: the provider is off.
    init?(from reader: inout ConfigurationReader) {
        guard reader.sources.isAnySet(in: "apple") else { return nil }
        let names = reader.value(Settings.Apple.teams)
        teams = names.map { Team(name: $0, from: &reader) }
        redirectURIs = reader.value(Settings.Apple.redirectURIs)
        issuers = reader.value(Settings.Apple.issuers)
        keysURL = reader.value(Settings.Apple.keysURL)
        tokenURL = reader.value(Settings.Apple.tokenURL)
        revokeURL = reader.value(Settings.Apple.revokeURL)
        userMigrationURL = reader.value(Settings.Apple.userMigrationURL)
        authorizeURL = reader.value(Settings.Apple.authorizeURL)
        nonceForm = reader.value(Settings.Apple.nonceForm)
        // Nothing is known of a list that can't be read.
        if !names.contains("main"), !reader.isRefused(Settings.Apple.teams.name) {
            if names.isEmpty { reader.refuse(Settings.Apple.teams.name, "lists no team") }
            for row in Settings.Apple.Team("main").rows where reader.isSet(row.name) {
                reader.refuse(row.name, "belongs to the team main, which apple.teams doesn't list")
            }
        }
        refuseSharedClientIDs(&reader)
    }

    /// The team whose Services ID the web sign-in's button has.
    var webTeam: Team? { teams.first { $0.servicesID != nil } }

    /// The `aud` of a token determines the team, so a client ID may belong to only one.
    private func refuseSharedClientIDs(_ reader: inout ConfigurationReader) {
        var owners: [[UInt8]: String] = [:]
        for team in teams {
            for clientID in team.clientIDs {
                guard let owner = owners.updateValue(team.name, forKey: Array(clientID.utf8)) else { continue }
                let settings = Settings.Apple.Team(team.name)
                let isServicesID = team.servicesID.map { $0.hasSameBytes(as: clientID) } ?? false
                reader.refuse(
                    isServicesID ? settings.servicesID.name : settings.clientIDs.name,
                    "has a client ID of the team \(owner): a client ID belongs to one team")
            }
        }
    }
}

extension AppleConfiguration.Team {
    fileprivate init(name: String, from reader: inout ConfigurationReader) {
        let settings = Settings.Apple.Team(name)
        self.name = name
        servicesID = reader.optional(settings.servicesID)
        clientIDs = reader.value(settings.clientIDs).including(servicesID)
        let teamID = reader.optional(settings.teamID)
        let keyID = reader.optional(settings.keyID)
        let path = reader.optional(settings.privateKeyPath)
        var privateKey: P256PrivateKey?
        var keyWrittenAt: Date?
        if let path, let bytes = reader.secretFile(settings.privateKeyPath, path) {
            privateKey = try? P256PrivateKey(pem: bytes)
            keyWrittenAt = reader.files[settings.privateKeyPath.name]?.writtenAt
            if privateKey == nil {
                reader.refuse(
                    settings.privateKeyPath.name, "names a file that isn't an unencrypted PKCS#8 P-256 key in PEM")
            }
        }
        // None of the three is of use without the others.
        if teamID != nil || keyID != nil || path != nil {
            for row in [settings.teamID, settings.keyID, settings.privateKeyPath] where !reader.isSet(row.name) {
                reader.refuse(row.name, "is required beside the team's other signing keys")
            }
        }
        if let teamID, let keyID, let privateKey {
            signing = AppleConfiguration.Signing(
                teamID: teamID, keyID: keyID, privateKey: privateKey, keyWrittenAt: keyWrittenAt)
        } else {
            signing = nil
        }
    }
}

extension [String] {
    /// The client IDs with that of the web sign-in among them.
    func including(_ clientID: String?) -> [String] {
        guard let clientID, !contains(where: { $0.hasSameBytes(as: clientID) }) else { return self }
        return self + [clientID]
    }
}
