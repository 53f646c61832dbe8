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

        let session = Session(accessToken: "access-1", refreshToken: "refresh-1")
        let stored = Stored(session)
        let person = Person(session, at: countersign) { stored.session = $0 }
        // Each time the access token has expired, here for one caller of a backend and there for three of the service.
        guard try await lamp(of: person, at: api).name == "Kim’s lamp" else { fatalError("not the backend's answer") }
        let _: Countersign.Nothing = try await countersign.call("POST", "expire")
        try await withThrowingTaskGroup { group in
            for _ in 1...3 {
                group.addTask { let _: Countersign.Nothing = try await person.call("GET", "v1/account") }
            }
            try await group.waitForAll()
        }
        guard stored.session?.refreshToken == "refresh-3" else { fatalError("the last refresh token is not stored") }
    }
}
