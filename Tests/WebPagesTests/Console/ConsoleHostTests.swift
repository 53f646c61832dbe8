import Testing

@testable import WebPages

struct ConsoleHostTests {
    @Test(
        arguments: [
            ("127.0.0.1", nil, ["127.0.0.1:8081", "127.0.0.1", "localhost:8081", "LocalHost", "[::1]:9000"]),
            ("10.1.2.3", nil, ["10.1.2.3", "10.1.2.3:8081"]),
            ("0.0.0.0", nil, ["10.1.2.3:8081", "[2001:db8::1]:8081", "localhost:8081", "127.0.0.1"]),
            ("::0", nil, ["10.1.2.3:8081", "[2001:db8::1]:8081", "localhost:8081", "[::1]"]),
            ("2001:DB8:0:0:0:0:0:1", nil, ["[2001:db8::1]:8081", "[2001:db8::1]"]),
            ("0:0:0:0:0:0:0:1", nil, ["[::1]:8081", "127.0.0.1:8081", "localhost"]),
            (
                "127.0.0.1", "support.example.com",
                ["support.example.com", "Support.Example.COM", "support.example.com:443"]
            ),
            ("127.0.0.1", "support.example.com:8443", ["support.example.com:8443"]),
            ("127.0.0.1", "support.example.com:443", ["support.example.com", "support.example.com:443"]),
            ("127.0.0.1", "[2001:db8::1]", ["[2001:db8::1]", "[2001:DB8::1]:8443"]),
            ("127.0.0.1", "[2001:DB8:0::1]:8443", ["[2001:db8::1]:8443"]),
        ] as [(String, String?, [String])])
    func `the listener's own address and the public host are the console's`(
        address: String, publicHost: String?, hosts: [String]
    ) {
        let host = ConsoleHost(address: address, publicHost: publicHost)
        for name in hosts { #expect(host.accepts(name), "\(name)") }
    }

    @Test(
        arguments: [
            (
                "127.0.0.1", nil,
                ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.1.2.3", "127.0.0.1@evil"]
            ),
            ("10.1.2.3", nil, ["localhost", "127.0.0.1", "10.1.2.4", "evil.example:8081"]),
            ("0.0.0.0", nil, ["evil.example", "evil.example:8081", "10.1.2.3.evil.example", "1e1.example"]),
            ("::0", nil, ["evil.example", "evil.example:8081"]),
            ("2001:DB8:0:0:0:0:0:1", nil, ["[2001:db8::2]", "[::1]", "localhost", "evil.example"]),
            (
                "127.0.0.1", "support.example.com",
                ["example.com", "asupport.example.com", "support.example.com.evil.example"]
            ),
            ("127.0.0.1", "support.example.com:8443", ["support.example.com", "support.example.com:443"]),
            (
                "127.0.0.1", "support.example.com",
                ["support.example.com:", "support.example.com:8a", "support.example.com:1:2", "[support.example.com]x"]
            ),
        ] as [(String, String?, [String])])
    func `any other name is not`(address: String, publicHost: String?, hosts: [String]) {
        let host = ConsoleHost(address: address, publicHost: publicHost)
        #expect(!host.accepts(nil))
        for name in hosts { #expect(!host.accepts(name), "\(name)") }
    }
}
