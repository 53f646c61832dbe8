// Uses the blocks of docs/getting-started/calling.md as Calls.kt does, on Linux.
import Foundation

/// In place of a keychain.
final class Stored: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Session?

    init(_ value: Session) { self.value = value }

    var session: Session? {
        get { lock.withLock { value } }
        set { lock.withLock { value = newValue } }
    }
}

@main
struct Calls {
    static func main() async throws {
        guard let api = CommandLine.arguments.last.flatMap(URL.init(string:)) else { fatalError("no URL of a service") }
        let countersign = Countersign(api: api, device: Device(name: "Kim’s phone"))
        do {
            _ = try await countersign.bind("ticket", by: .ticket)
            fatalError("an answer that was never sent")
        } catch let failure as URLError {
            print("no answer: \(failure)")
        }

        let session = Session(sessionId: "session", accessToken: "access-1", refreshToken: "refresh-1")
        let stored = Stored(session)
        let one = Person(session, at: countersign, load: { stored.session }, store: { stored.session = $0 })
        let other = Person(session, at: countersign, load: { stored.session }, store: { stored.session = $0 })
        // Each time the access token has expired, once for a caller of a backend and once for three of the service.
        guard try await lamp(of: one, at: api).name == "Kim’s lamp" else { fatalError("not the backend's answer") }
        let _: Countersign.Nothing = try await countersign.call("POST", "expire")
        let _: Countersign.Nothing = try await other.call("GET", "v1/account")
        let _: Countersign.Nothing = try await countersign.call("POST", "expire")
        try await withThrowingTaskGroup { group in
            for _ in 1...3 {
                group.addTask { let _: Countersign.Nothing = try await one.call("GET", "v1/account") }
            }
            try await group.waitForAll()
        }
        guard stored.session?.refreshToken == "refresh-4" else { fatalError("the last refresh token is not stored") }

        try await one.signOut()
        guard stored.session == nil else { fatalError("signed out, with a session") }
        do {
            let _: Countersign.Nothing = try await other.call("GET", "v1/account")
            fatalError("signed out, and called")
        } catch let problem as Problem where problem.code == "invalid_refresh_token" {}
        // What another person has there is not theirs.
        stored.session = Session(sessionId: "another", accessToken: "access-5", refreshToken: "refresh-5")
        try await other.signOut()
        guard stored.session?.sessionId == "another" else { fatalError("another one's session is gone") }
    }
}
