import ArgumentParser
import Curl
import JSON

/// The health check of a container or a script: no shell, no curl.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Asks the service on this machine whether it is ready for requests.",
        discussion: """
            At health.port if it is set, else at admin.port, as the configuration of `serve` has them. Exit code 0: \
            ready. 1: not ready. 2: nothing answers within two seconds, or something else does.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Ask whether it is alive, whatever its database does.") var live = false

    func run() async throws {
        let address = try options.sources().load(HealthAddress.init)
        let fetcher = try CurlFetcher()
        let state = await HealthState(of: address, live ? .live : .ready, fetcher: fetcher)
        await fetcher.shutdown()
        switch state {
        case .good(let word):
            printLine(word)
        case .bad(let reason):
            printNotice("The service is not \(live ? "live" : "ready"): \(reason).")
            throw ExitCode(1)
        case .unreachable(let reason):
            printNotice("The service can't be reached at \(address): \(reason).")
            throw ExitCode(2)
        }
    }
}

/// Where the service on this machine answers for its health.
struct HealthAddress: Sendable, CustomStringConvertible {
    /// For a URL: an IPv6 address is in brackets.
    let host: String
    let port: Int

    /// Reads only what names the listener, so that the check needs no secret.
    init(from reader: inout ConfigurationReader) {
        let healthPort = reader.optional(Settings.Admin.healthPort)
        let listening = reader.value(healthPort == nil ? Settings.Admin.host : Settings.Server.host)
        host =
            switch listening {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            case _ where listening.contains(":"): "[\(listening)]"
            default: listening
            }
        port = healthPort ?? reader.value(Settings.Admin.port)
    }

    var description: String { "\(host):\(port)" }
}

/// What `/health/ready` or `/health/live` of a service says.
enum HealthState {
    enum Question: String {
        case ready
        case live
    }

    /// The word of the answer.
    case good(String)
    /// 503, with the `readiness` of its body.
    case bad(String)
    case unreachable(String)

    /// Two seconds are twice what the service takes at most for its readiness.
    init(of address: HealthAddress, _ question: Question, fetcher: any Fetcher) async {
        var request = FetchRequest(url: "http://\(address)/health/\(question.rawValue)", timeout: .seconds(2))
        request.allowsHTTP = true
        do throws(FetchError) {
            let response = try await fetcher.fetch(request)
            let members = try? JSONValue(parsing: response.body)
            switch (response.status, members?["status"]?.string, members?["readiness"]?.string) {
            case (200, question.rawValue, _): self = .good(question.rawValue)
            case (503, _, let reason?): self = .bad(reason)
            default: self = .unreachable("what answers there is another program, with status \(response.status)")
            }
        } catch {
            self = .unreachable(error.code.rawValue)
        }
    }
}
