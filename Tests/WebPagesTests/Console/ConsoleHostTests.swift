import TestSupport
import Testing

@testable import WebPages

struct ConsoleHostTests {
    /// A listener, and names that a request may have for it.
    struct Listener: Decodable, Sendable {
        let address: String
        let publicHost: String?
        let names: [String]

        var host: ConsoleHost { ConsoleHost(address: address, publicHost: publicHost) }
    }

    private struct Listeners: Decodable {
        let own: [Listener]
        let others: [Listener]
    }

    private static let listeners = Result { try DataFile("ConsoleHosts.json").decoded(as: Listeners.self) }

    @Test(arguments: try listeners.get().own)
    func `the listener's own address, loopback and the public host are the console's`(_ listener: Listener) {
        for name in listener.names { #expect(listener.host.accepts(name), "\(name)") }
    }

    @Test(arguments: try listeners.get().others)
    func `any other name is not`(_ listener: Listener) {
        #expect(!listener.host.accepts(nil))
        for name in listener.names { #expect(!listener.host.accepts(name), "\(name)") }
    }
}
