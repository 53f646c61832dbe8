import Accounts
import Curl
import JOSE
import Providers
import Storage

/// The checks of Apple and Google: secrets, keys, endpoints, events.
extension Doctor {
    /// So many identities of a team are counted: the check has to end.
    private static let mostCounted = 100_000

    /// Looks for people whose team is under no name, or under another one.
    @Sendable func appleTeams() async -> [Finding] {
        await withSchema(.appleTeams, "couldn't be compared with people's identities") { database in
            let inspection = DatabaseInspection(database: database)
            let names = configuration.reloadable.apple?.teams.map(\.name) ?? []
            var findings: [Finding] = []
            for realm in try await inspection.realms(of: .apple) where !names.contains(realm.text) {
                let count = try await inspection.identityCount(of: .apple, in: realm, upTo: Self.mostCounted)
                let words = count < Self.mostCounted ? "\(count)" : "\(count) or more"
                findings.append(
                    .warning(
                        .appleTeams,
                        "apple.teams has no team \(realm), and its people are unknown; their identities: \(words)",
                        advice: "give the team this name: Apple's subjects are kept under it"))
            }
            return findings.isEmpty ? [.ok(.appleTeams, "the teams of all identities are configured")] : findings
        }
    }

    /// Signs a client secret for each team, and verifies it as Apple will.
    @Sendable func appleSecret() async -> [Finding] {
        guard let apple = configuration.reloadable.apple else { return [] }
        return apple.teams.map { team in
            guard let signing = team.signing, let clientID = team.clientIDs.first else {
                return .ok(.appleSecret, "the team \(team.name) has no key: identity tokens alone, no codes")
            }
            let provider = AppleProvider(configuration: .init(apple), keys: .fixed(.empty))
            let endpoint = AppleTokenEndpoint(apple, provider: provider, fetcher: fetcher, logger: .quiet)
            let document = PublicJWK.document([PublicJWK(signing.privateKey, keyID: signing.keyID)])
            guard let secret = try? endpoint?.clientSecret(for: ProviderClientID(clientID), at: clock.now()),
                let keys = try? KeySet(parsing: document),
                (try? UnverifiedToken(Array(secret.utf8)).verified(by: keys)) != nil
            else {
                return .failure(
                    .appleSecret, "the key of the team \(team.name) signs nothing that can be verified",
                    advice: "download the .p8 file again, or make a new key at Apple")
            }
            let odd = [("teamId", signing.teamID), ("keyId", signing.keyID)]
                .filter { $0.1.wholeMatch(of: /[A-Z0-9]{10}/) == nil }.map(\.0)
            guard odd.isEmpty else {
                return .warning(
                    .appleSecret, "\(odd.joined(separator: " and ")) of the team \(team.name) isn't of Apple's form",
                    advice: "both are ten capital letters and digits, as the developer account shows them")
            }
            return .ok(.appleSecret, "the team \(team.name) signs with the key \(signing.keyID)")
        }
    }

    @Sendable func appleKeys() async -> [Finding] {
        guard let apple = configuration.reloadable.apple else { return [] }
        return foreignKeys(.appleKeys, of: .apple) + [await keys(.appleKeys, at: apple.keysURL)]
    }

    @Sendable func googleKeys() async -> [Finding] {
        guard let url = configuration.reloadable.keysURL(of: .google) else { return [] }
        return foreignKeys(.googleKeys, of: .google) + [await keys(.googleKeys, at: url)]
    }

    private func foreignKeys(_ check: CheckName, of provider: Provider) -> [Finding] {
        configuration.foreignKeys.filter { $0.provider == provider }.map { _, url in
            .failure(
                check, "\(url) is not the provider's own address, and \(configuration.server.publicURL) is in public",
                advice: "what answers there signs in as anybody: take \(provider.rawValue).keysUrl out")
        }
    }

    private func keys(_ check: CheckName, at url: String) async -> Finding {
        do throws(KeySetFetchFailure) {
            let keys = try await PublishedKeySet(at: url, fetcher: fetcher)
            let detail = "\(counted(keys.usableCount, "usable key")) at \(url), good for \(keys.lifetime) s"
            guard keys.rejected.isEmpty else {
                return .warning(
                    check, detail + ", left out: \(keys.rejected.map(\.rawValue).joined(separator: ", "))",
                    advice: "nothing to do unless tokens are refused as key_unknown")
            }
            return .ok(check, detail)
        } catch {
            return .failure(
                check, "no key set at \(url) (\(error.reason))",
                advice: "see the URL, DNS and the way out of this network")
        }
    }

    @Sendable func appleEndpoints() async -> [Finding] {
        guard let apple = configuration.reloadable.apple, apple.teams.contains(where: { $0.signing != nil }) else {
            return []
        }
        return await endpoints(.appleEndpoints, [apple.tokenURL, apple.revokeURL])
    }

    @Sendable func googleEndpoints() async -> [Finding] {
        guard let google = configuration.reloadable.google, google.webClient != nil else { return [] }
        let withoutClient = google.projects.filter { $0.serverClient == nil }.map { project in
            Finding.ok(.googleEndpoints, "the project \(project.name) has no server client: ID tokens alone, no codes")
        }
        return await endpoints(.googleEndpoints, [google.tokenURL, google.revokeURL]) + withoutClient
    }

    /// Any answer is good: nothing is sent that a provider could accept.
    private func endpoints(_ check: CheckName, _ urls: [String]) async -> [Finding] {
        var findings: [Finding] = []
        for url in urls {
            do throws(FetchError) {
                _ = try await fetcher.fetch(FetchRequest(url: url, timeout: .seconds(2), connectTimeout: .seconds(2)))
            } catch {
                findings.append(
                    .failure(
                        check, "\(url) can't be reached (\(error.code.rawValue))",
                        advice: "see the URL, DNS and the way out of this network: codes and revocations need it"))
            }
        }
        return findings.isEmpty ? [.ok(check, "\(urls.joined(separator: " and ")) answer")] : findings
    }

    @Sendable func googleEvents() async -> [Finding] {
        guard let google = configuration.reloadable.google else { return [] }
        let url = google.riscConfigurationURL
        guard let discovery = await GoogleEventDiscovery(at: url, fetcher: fetcher) else {
            return .warning(
                .googleEvents, "\(url) can't be read: issuer and keys were not compared",
                advice: "see google.riscConfigurationUrl, and try again")
        }
        var others: [String] = []
        if !discovery.names(oneOf: google.issuers) { others.append("an issuer that google.issuers lacks") }
        if !discovery.names(keysURL: google.keysURL) { others.append("another key address than google.keysUrl") }
        guard others.isEmpty else {
            return .warning(
                .googleEvents, "\(url) names \(others.joined(separator: " and "))",
                advice: "events will be refused: compare with Google's documentation, then configure what it says")
        }
        return .ok(.googleEvents, "issuer and keys are those that are configured")
    }
}
