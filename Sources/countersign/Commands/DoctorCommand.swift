import ArgumentParser
import Curl

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Looks at everything that the service needs, and changes nothing.",
        discussion: """
            A line for each finding, what is wrong first: failure, warning, ok, or note for what can't be checked \
            from here; what was found, and what to do. Exit code 1 when something would fail. docs/operations/doctor.md describes each.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Print one JSON object instead.") var json = false
    @Flag(help: "Post an event of the type endpoint.test to each endpoint of the webhooks.") var webhooks = false

    func run() async throws {
        let findings = try await findings()
        printLine(json ? findings.json : findings.lines.joined(separator: "\n"))
        if findings.status == .failure { throw ExitCode(1) }
    }

    private func findings() async throws -> [Finding] {
        let reading: ConfigurationReading<ServiceConfiguration>
        do {
            reading = try ConfigurationReading(of: options.sources(), ServiceConfiguration.init)
        } catch let faults as ConfigurationFaults {
            return [Finding](faults)
        }
        let fetcher = try CurlFetcher()
        let findings = await Doctor(
            reading: reading, fetcher: fetcher, clock: SystemClock(), testsWebhooks: webhooks
        ).examine()
        await fetcher.shutdown()
        return findings
    }
}
