import ArgumentParser
import Foundation

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Looks at the configuration, and touches nothing.",
        subcommands: [Check.self, Show.self, Example.self, Reference.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Checks the whole configuration as `serve` does, and names every fault.")

        @OptionGroup var options: ConfigurationOptions

        func run() throws {
            let sources = try options.sources()
            sources.warnOfUnknownVariables()
            let configuration = try sources.load(ServiceConfiguration.init)
            for warning in configuration.warnings { printNotice("warning: \(warning.sentence)") }
            printLine("the configuration is sound")
        }
    }

    struct Example: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "example",
            abstract: "Prints a configuration file with every key, its form, its default and what it is for.")

        func run() { StandardOutput.write(ConfigurationExample.text) }
    }

    struct Reference: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reference",
            abstract: "Reads docs/configuration.md from standard input, and prints it with the keys as they are.",
            shouldDisplay: false)

        func run() throws {
            let page = try FileHandle.standardInput.readToEnd() ?? Data()
            StandardOutput.write(ConfigurationReference.rewritten(String(decoding: page, as: UTF8.self)))
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Prints every key, its value, where that comes from, and what it is for. Secrets are left out.")

        @OptionGroup var options: ConfigurationOptions

        func run() throws {
            let sources = try options.sources()
            for line in ConfigurationListing.lines(of: sources) { printLine(line) }
            sources.warnOfUnknownVariables()
            // Invalid values are reported after the valid ones. Keys that only `serve` needs aren't required here.
            _ = try sources.load { reader in reader.refuseUnacceptable() }
        }
    }
}

extension ConfigurationSources {
    fileprivate func warnOfUnknownVariables() {
        for variable in unknownVariables { printNotice("warning: \(variable)") }
    }
}
