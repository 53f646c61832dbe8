import Accounts
import Administration
import ArgumentParser

struct RevocationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revocation", abstract: "Lists and retries the ends of authorizations at Apple and Google.",
        subcommands: [List.self, ActCommand<Retry>.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints revocations, the newest first, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "In one status: pending, done or failed; all if absent.") var status: Revocation.Status?
        @Option(help: "How many, at most.") var limit = 50

        func validate() throws {
            guard 1...10_000 ~= limit else { throw ValidationError("--limit is a number from 1 to 10,000") }
        }

        func run() async throws {
            try await withAdministration(options) { administration, _ in
                var (cursor, left): (RevocationID?, Int) = (nil, limit)
                repeat {
                    let page = try await administration.revocations(status, before: cursor, limit: min(left, 200))
                    for revocation in page.items { print(revocation.line) }
                    left -= page.items.count
                    cursor = page.next
                } while cursor != nil && left > 0
            }
        }
    }

    enum Retry: CommandedAct {
        typealias Input = OptionalReason
        static let act = Act.retryRevocation
    }
}

extension Revocation.Status: ExpressibleByArgument {}
