import Testing

@testable import countersign

/// Where `countersign health` asks, for each configuration of the listeners.
@Suite struct HealthAddressTests {
    @Test(arguments: [
        ([:], "127.0.0.1:8081"),
        (["ADMIN_PORT": "9001"], "127.0.0.1:9001"),
        (["ADMIN_HOST": "172.30.81.11"], "172.30.81.11:8081"),
        (["ADMIN_HOST": "0.0.0.0"], "127.0.0.1:8081"),
        (["ADMIN_HOST": "::"], "[::1]:8081"),
        (["ADMIN_HOST": "fd00::5", "SERVER_HOST": "0.0.0.0"], "[fd00::5]:8081"),
        (["ADMIN_HOST": "172.30.81.11", "HEALTH_PORT": "8082"], "127.0.0.1:8082"),
        (["SERVER_HOST": "0.0.0.0", "HEALTH_PORT": "8082"], "127.0.0.1:8082"),
        (["SERVER_HOST": "auth-1.internal", "HEALTH_PORT": "8082"], "auth-1.internal:8082"),
    ])
    func `it is the listener that serve opens for health`(settings: [String: String], address: String) throws {
        let environment = Dictionary(uniqueKeysWithValues: settings.map { ("COUNTERSIGN_\($0)", $1) })
        let sources = try ConfigurationSources(path: nil, environment: environment)
        #expect(try sources.load(HealthAddress.init).description == address)
    }
}
