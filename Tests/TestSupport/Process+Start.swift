package import Foundation
import Synchronization

extension Process {
    private static let starting = Mutex(())

    /// Starts it while no other is being started. A process that starts beside another one may inherit the socket by whose
    /// end Foundation notices that the other has ended, and so hide that for as long as it runs itself: who waits for the
    /// other waits for ever.
    package func start() throws { try Self.starting.withLock { _ in try run() } }
}
