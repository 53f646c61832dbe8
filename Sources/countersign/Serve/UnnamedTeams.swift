import Accounts
import Logging
import Storage

extension DatabaseInspection {
    /// The teams at Apple of which there are identities, but for those of these names: renamed ones, and ones that were left
    /// out. None while the database can't be asked.
    func appleTeams(besides names: [String]) async -> [String] {
        let realms = (try? await realms(of: .apple)) ?? []
        return realms.map(\.text).filter { !names.contains($0) }
    }
}

extension Logger {
    func warn(ofUnnamed teams: [String]) {
        for team in teams {
            warning(
                "people's Apple team is not configured",
                metadata: ["key": "\(Settings.Apple.teams.name)", "team": "\(team)"])
        }
    }
}
