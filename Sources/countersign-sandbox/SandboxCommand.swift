import ArgumentParser
import Curl
import Foundation
import Hummingbird
import Logging
import NIOCore
import OpenSSL
import Primitives
import ServiceLifecycle
import UnixSignals

@main
struct SandboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "countersign-sandbox",
        abstract: "Stands in for Apple and Google: key sets, identity tokens, faults and a request history.",
        discussion: """
            Prints one line with its address when it is ready and serves until SIGTERM or SIGINT. The provider side is \
            under /apple and /google, the controls are under /control; docs/sandbox.md describes them with examples. \
            Everything is kept in memory. Any client that reaches the port can sign in as any person: this is for \
            tests and development only.
            """)

    @Option(help: "The address to listen on. Anything but a loopback address needs --allow-remote.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 takes a free one.")
    var port: UInt16 = 8090

    @Flag(help: "Permit a host that other machines can reach.")
    var allowRemote = false

    @Option(help: "The same seed gives the same subjects, addresses, codes and key ids. Default: a new one each time.")
    var seed: String?

    @Option(
        help: "A directory that keeps the private keys, so that a restart has the same. Default: new ones each time.")
    var keys: String?

    @Option(help: "The iss of Apple's tokens.")
    var appleIssuer = "https://appleid.apple.com"

    @Option(help: "The iss of Google's tokens.")
    var googleIssuer = "https://accounts.google.com"

    @Flag(help: "Ask the sandbox at this host and port whether it answers, and exit: 0 if it does, else 1.")
    var health = false

    @Flag(help: "Also end when standard input closes, so that it cannot outlive the program that started it.")
    var untilInputEnds = false

    func validate() throws {
        guard allowRemote || health || host.isLoopbackHost else {
            throw ValidationError("\(host) may be reached from other machines; say --allow-remote if that is meant.")
        }
        guard keys != "" else { throw ValidationError("--keys is a directory, and not empty.") }
        guard Self.isIssuer(appleIssuer) else { throw ValidationError("--apple-issuer is an http: or https: URL.") }
        // Google's tokens may have it without the scheme.
        guard Self.isIssuer(googleIssuer) || googleIssuer == "accounts.google.com" else {
            throw ValidationError("--google-issuer is an http: or https: URL, or accounts.google.com.")
        }
    }

    private static func isIssuer(_ text: String) -> Bool {
        guard let url = URLComponents(string: text), let scheme = url.scheme, let host = url.host else { return false }
        return ["http", "https"].contains(scheme) && !host.isEmpty
    }

    func run() async throws {
        OpenSSLLibrary.disableAtExitCleanup()
        guard !health else { return try await requireAnswer() }
        let sandbox = Sandbox(
            .init(
                seed: seed ?? String(UInt64.random(in: 0...UInt64.max), radix: 36), appleIssuer: appleIssuer,
                googleIssuer: googleIssuer, keyStore: try keyStore(), fetcher: try Self.fetcher()))
        var logger = Logger(label: "countersign-sandbox", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = .error
        let application = Application(
            router: sandbox.router,
            configuration: .init(address: .hostname(host, port: Int(port))),
            onServerRunning: { channel in
                guard let address = channel.localAddress, let port = address.port else { return }
                announce(port: port)
                if untilInputEnds { endWithInput() }
            },
            logger: logger)
        var services = ServiceGroupConfiguration(
            services: [application], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // A slow response may have minutes to go; shutdown does not wait for it.
        services.maximumGracefulShutdownDuration = .seconds(1)
        do {
            try await ServiceGroup(configuration: services).run()
        } catch let error as IOError {
            let reason = String(cString: strerror(error.errnoCode))
            throw StartFailure(description: "Cannot listen on \(host), port \(port): \(reason).")
        }
    }

    /// A health check without a shell. It asks a control: a request to the provider side would meet the faults that are
    /// set, and stand in the history.
    private func requireAnswer() async throws {
        let fetcher = try Self.fetcher()
        let asked =
            switch host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            default: host
            }
        var request = FetchRequest(url: "\(address(of: asked, port: Int(port)))/control/clock", timeout: .seconds(2))
        request.allowsHTTP = true
        let response = try? await fetcher.fetch(request)
        await fetcher.shutdown()
        guard response?.status == 200 else { throw ExitCode.failure }
    }

    private static func fetcher() throws -> CurlFetcher {
        var configuration = CurlFetcher.Configuration()
        configuration.userAgent = "countersign-sandbox"
        return try CurlFetcher(configuration: configuration)
    }

    private func keyStore() throws(StartFailure) -> KeyStore {
        do {
            return try KeyStore(path: keys)
        } catch {
            throw StartFailure(description: "Cannot keep keys in \(keys ?? ""): \(error.localizedDescription)")
        }
    }

    /// Prints the one line on standard output, unbuffered, because a parent process waits for it at the other end of a
    /// pipe. Ends the process if it can't.
    private func announce(port: Int) {
        let line = Array("countersign-sandbox ready at \(address(of: host, port: port))\n".utf8)
        // So short a line is written as a whole, or not.
        guard write(STDOUT_FILENO, line, line.count) == line.count else {
            let reason = String(cString: strerror(errno))
            Self.exit(withError: StartFailure(description: "Cannot print the address: \(reason)."))
        }
    }

    private func address(of host: String, port: Int) -> String {
        host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
    }

    /// Signals this process when standard input ends. Called once the server runs: before, no handler catches the
    /// signal.
    private func endWithInput() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            kill(getpid(), SIGTERM)
        }
    }
}

/// Why the sandbox did not start, as one sentence for the operator.
private struct StartFailure: Error, CustomStringConvertible {
    let description: String
}
