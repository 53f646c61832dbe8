import Accounts
import HTTPAPI
import JOSE
import Postgres
import Providers

extension Database.Configuration {
    init(_ configuration: DatabaseConfiguration) {
        self.init(
            url: configuration.url, poolSize: configuration.poolSize,
            preparedStatements: configuration.preparedStatements)
    }
}

extension AppleProvider.Configuration {
    init(_ configuration: AppleConfiguration) {
        self.init(
            teams: configuration.teams.map { Team(realm: Realm($0.name), clientIDs: $0.clientIDs) },
            issuers: configuration.issuers, keysURL: configuration.keysURL, nonceForm: configuration.nonceForm)
    }
}

extension GoogleProvider.Configuration {
    init(_ configuration: GoogleConfiguration) {
        self.init(
            clientIDs: configuration.clientIDs, authorizedParties: configuration.authorizedParties,
            hostedDomains: configuration.hostedDomains, issuers: configuration.issuers,
            keysURL: configuration.keysURL, nonceForm: configuration.nonceForm)
    }
}

extension Health.Readiness {
    /// The age of the key sets is told, and never a reason not to be ready: sign-in goes on from memory.
    init(isReady: Bool, keySets: [KeySource]) {
        self.init(isReady: isReady) { writer in
            writer.name("keySets")
            writer.beginArray()
            for case .cache(let cache) in keySets {
                let status = cache.status
                writer.beginObject()
                writer.member("provider", cache.provider.rawValue)
                writer.member("keys", status.keyCount)
                if let age = status.age { writer.member("ageSeconds", age) }
                writer.endObject()
            }
            writer.endArray()
        }
    }
}
