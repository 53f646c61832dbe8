package import Accounts
import Metrics
package import Storage

/// The gauge of addresses whose codes are guessed at, as of the last query.
package struct GuessGauges: Sendable {
    private let store: EmailCodeStore
    private let clock: any WallClock
    private let attacked = Gauge(label: "countersign_addresses_under_attack")

    package init(store: EmailCodeStore, clock: any WallClock) {
        self.store = store
        self.clock = clock
    }

    package func report() async throws {
        attacked.record(try await store.addressesUnderAttack(by: clock.call(by: .service)))
    }
}
