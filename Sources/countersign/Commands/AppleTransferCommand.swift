import Accounts
import ArgumentParser
import Postgres
import Providers
import SignIn
import Storage

/// The command that moves the users of an app to another developer team. Apple gives them new subjects there. A
/// transfer identifier leads from the old to the new one: the sending team requests it and the receiving team redeems
/// it, until 60 days after the transfer was accepted.
struct AppleTransferCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfer", abstract: "Moves the users of an app to another developer team.",
        subcommands: [Export.self, Import.self])

    /// The options for the request rate and for a dry run.
    struct Pace: ParsableArguments {
        @Option(help: "Users a second, at most.") var rate = 10
        @Flag(help: "Print how many there are, and call Apple for none.") var dryRun = false

        func validate() throws {
            guard 1...100 ~= rate else { throw ValidationError("--rate is a number from 1 to 100") }
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "For the sending team, before or after the transfer: asks for each user's transfer identifier.",
            discussion: """
                Uses the sending team's key, and keeps the identifiers in the database. Those that are there already are \
                not asked for again, so an interrupted run is simply repeated. One JSON line for each user goes to \
                standard output, progress to standard error.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(name: .customLong("to-team-id"), help: "The receiving team's Team ID.") var targetTeam: String
        @Option(name: .customLong("client-id"), help: "The app's bundle ID, a client of the sending team.")
        var clientID: String
        @OptionGroup var pace: Pace

        func run() async throws {
            try await withTransfers(options, clientID, "have a transfer identifier") { transfers, realm in
                try await transfers.export(
                    realm: realm, targetTeam: targetTeam, clientID: ProviderClientID(clientID), dryRun: pace.dryRun,
                    rate: pace.rate, report: report)
            }
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "For the receiving team, after the transfer: gives each user their new subject.",
            discussion: """
                Uses the receiving team's key, and ends with exit code 2 where the configuration has the app in another \
                team. A user who signs in meanwhile is moved by that. An interrupted run is \
                simply repeated.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(name: .customLong("team-id"), help: "The receiving team's Team ID, as it was given to export.")
        var targetTeam: String
        @Option(name: .customLong("client-id"), help: "The app's bundle ID, now a client of the receiving team.")
        var clientID: String
        @OptionGroup var pace: Pace

        func run() async throws {
            try await withTransfers(options, clientID, of: targetTeam, "have their new subject") { transfers, realm in
                try await transfers.import(
                    realm: realm, targetTeam: targetTeam, clientID: ProviderClientID(clientID), dryRun: pace.dryRun,
                    rate: pace.rate, report: report)
            }
        }
    }
}

/// Runs the body with the realm of the team that has this client ID, and says of how many users it did what.
///
/// - Parameter team: the Team ID that the client's has to be; nil where any will do.
private func withTransfers(
    _ options: ConfigurationOptions, _ clientID: String, of team: String? = nil, _ what: String,
    _ body: (AppleTransfers, Realm) async throws -> AppleTransfers.Progress
) async throws {
    let progress = try await withAppleEndpoint(options) { endpoint in
        let realm = try endpoint.realm(ofTeamWith: clientID)
        if let team, endpoint.teamID(of: realm) != team {
            throw UsageFault(
                sentence: """
                    --client-id \(clientID) is of the team \(endpoint.teamID(of: realm) ?? "") in the configuration, and \
                    not of \(team): give it to the receiving team there first
                    """)
        }
        // The first page of a run that goes on is behind all that are done.
        return try await withDatabase(options, statementTimeout: nil) { database in
            // Pages of a long list: the server has to see where one begins.
            try await Database.planningEachTime {
                try await body(
                    AppleTransfers(
                        store: TransferStore(database: database), endpoint: endpoint, clock: SystemClock(),
                        origin: .thisOperator),
                    realm)
            }
        }
    }
    printNotice("\(progress.done) of \(progress.total) \(what), \(progress.failed) failed")
    if progress.failed > 0 { throw ExitCode(1) }
}

private func report(_ line: AppleTransfers.Report) {
    switch line {
    case .moved(let identityID, let subject):
        printLine(#"{"identityId":"\#(identityID)","subject":"\#(subject.text)"}"#)
    case .failed(let identityID, let error):
        printNotice("identity \(identityID): \(error)")
    case .progress(let progress):
        printNotice("\(progress.done) of \(progress.total) done, \(progress.failed) failed")
    }
}
