import CountersignClient
import Foundation

/// The app: one client over a session in a file, and a person whom Apple and Google know.
final class App {
    let options: Options
    let report: Report
    let service: URL
    let sandbox: Sandbox
    let client: SignInClient
    let person = "kim\(UInt64(Date().timeIntervalSince1970 * 1000))"
    /// Google runs this mailbox, so that its token proves it.
    var email: String { "\(person)@gmail.com" }
    var accountID = ""

    init(_ options: Options, _ report: Report) throws {
        guard let service = URL(string: options.service), let sandbox = URL(string: options.sandbox) else {
            throw Mismatch("--service and --sandbox are URLs")
        }
        (self.options, self.report, self.service) = (options, report, service)
        self.sandbox = Sandbox(url: sandbox)
        client = try Self.client(service, folder: options.folder)
    }

    static func client(_ service: URL, folder: String) throws -> SignInClient {
        let file = URL(fileURLWithPath: folder).appendingPathComponent("session.json")
        return SignInClient(baseURL: service, store: try FileSessionStore(file: file), allowsLoopbackHTTP: true)
    }

    func linkTicket(_ outcome: SignInOutcome) throws -> LinkTicket {
        guard case .linkRequired(let ticket) = outcome else { throw Mismatch("no link ticket, but \(outcome)") }
        return ticket
    }

    func signedIn(_ outcome: SignInOutcome) throws -> ClientAccount {
        guard case .signedIn(let account) = outcome else { throw Mismatch("not signed in, but \(outcome)") }
        return account
    }

    /// The state that an observer who comes now is shown first.
    func state() async -> SessionState? {
        for await state in client.states { return state }
        return nil
    }
}
