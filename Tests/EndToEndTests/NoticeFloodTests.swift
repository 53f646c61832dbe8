import Postgres
import TestSupport
import Testing

/// An account that is made with the address of another person, and deleted, again and again.
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "2/d"]), .timeLimit(.minutes(30)))
struct NoticeFloodTests: WorldSuite {
    @Test func `who has lost a mailbox does not flood it by creating and deleting`() async throws {
        let email = "former@example.com"
        try await world.newPerson("former", email: email)
        for _ in 0..<4 {
            let device = try await world.newAccount("former", with: .google)
            // What waits is dropped with the account.
            try await eventually("an empty outbox") {
                try await world.count("SELECT count(*) FROM outbox WHERE recipient = \(email)") == 0
            }
            #expect(try await service.delete("/v1/account", bearer: device.bearer).status == 202)
        }
        #expect(try world.mailbox(email).count == 2)
    }
}
