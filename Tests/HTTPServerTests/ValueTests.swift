import Primitives
import TestSupport
import Testing

@testable import HTTPServer

/// The values that need no connection.
@Suite struct ValueTests {
    // MARK: Bearer

    @Test(arguments: ["Bearer abc", "bearer abc", "BEARER   abc"])
    func `a bearer token is read whatever the case of its scheme`(field: String) {
        #expect(Bearer([field]) == .token(Array("abc".utf8)))
    }

    @Test func `a field without one whole bearer token is malformed, and no field is absent`() {
        #expect(Bearer([]) == .absent)
        let malformed = [
            "", "Bearer", "bearer", "Bearer ", "Bearer  ", "Bearer a b", "Bearer a,b",
            "Bearer é", "Bearer a\u{7F}", "Bearer a\r\n", "Bearer a\u{0}b",
            "Bearer " + String(repeating: "a", count: 16 * 1024 + 1),
        ]
        for field in malformed { #expect(Bearer([field]) == .malformed, "\(field.prefix(20))") }
        for other in ["Bearer abc", "Basic abc"] { #expect(Bearer([other, "Bearer abc"]) == .malformed) }
        #expect(Bearer(["Bearer " + String(repeating: "a", count: 16 * 1024)]) != .malformed)
    }

    @Test(arguments: ["Basic abc", "Basic", "abc", "Beare", "Bearerabc", "Bearerx y", "Bearer,abc", "DPoP a b"])
    func `a field of another scheme says nothing of a bearer token`(field: String) {
        #expect(Bearer([field]) == .otherScheme)
    }

    // MARK: Addresses

    @Test(arguments: [
        "::ffff:198.51.100.7", "::FFFF:198.51.100.7", "0:0:0:0:0:ffff:c633:6407", "::ffff:c633:6407", "198.51.100.7",
        "0000:0000::ffff:c633:6407",
    ])
    func `an address has one value however it is written`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.text == "198.51.100.7")
        #expect(address.network == "198.51.100.0/24")
    }

    @Test func `all addresses of a /64 are one network`() {
        var networks: Set<String> = []
        for host in UInt64(0)..<65_536 {
            // Spread over the whole of it.
            let bits = (host &* 0x9E37_79B9_7F4A_7C15)
            networks.insert(IPAddress(bits: 0x2001_0DB8_0001_0002 << 64 | UInt128(bits)).network)
        }
        #expect(networks == ["2001:db8:1:2::/64"])
    }

    @Test func `the wide network of an address is its /16 or /48`() {
        for (text, wide) in [
            ("198.51.100.7", "198.51.0.0/16"), ("::ffff:198.51.255.255", "198.51.0.0/16"),
            ("2001:db8:1:2::1", "2001:db8:1::/48"), ("2001:db8:1:ffff:ffff:ffff:ffff:ffff", "2001:db8:1::/48"),
            ("2001:db8:2::", "2001:db8:2::/48"), ("0.0.0.1", "0.0.0.0/16"), ("::1", "::/48"),
        ] { #expect(IPAddress(text)?.wideNetwork == wide, "\(text)") }
    }

    @Test func `the network of an IPv6 address is its first half`() throws {
        let address = try #require(IPAddress("2001:DB8:1:2:3:4:5:6"))
        #expect(address.text == "2001:db8:1:2:3:4:5:6")
        #expect(address.network == "2001:db8:1:2::/64")
        #expect(IPAddress("2001:db8:1:2:ffff::1")?.network == address.network)
        #expect(IPAddress("2001:db8:1:3::")?.network != address.network)
    }

    @Test(arguments: [
        "", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4:80", "[::1]", "::1%lo", "1::2::3",
        " ::1",
        "0x7f.0.0.1", "2130706433",
    ])
    func `what is no address in its text form is refused`(text: String) { #expect(IPAddress(text) == nil) }

    @Test func `the client is the nearest address that no trusted proxy has`() throws {
        let proxies = try #require(TrustedProxies(["10.0.0.0/8", "192.0.2.1", "2001:db8::/32"]))
        struct Case: Decodable {
            let peer: String
            let forwarded: [String]
            let client: String
        }
        for example in try DataFile("Fixtures/proxies.json").decoded(as: [Case].self) {
            let client = proxies.client(of: try #require(IPAddress(example.peer)), forwardedFor: example.forwarded)
            #expect(client.text == example.client, "\(example)")
        }
    }

    @Test(arguments: [
        "", "proxy.example", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::/129", "10.0.0.0/8/8", "10.0.0.0/ 8",
    ])
    func `a proxy that is no address or network is refused`(text: String) { #expect(TrustedProxies([text]) == nil) }

    @Test func `the length of a proxy's network beside an IPv4-mapped address is one of IPv4`() {
        #expect(TrustedProxies(["::ffff:10.0.0.0/8"]) == TrustedProxies(["10.0.0.0/8"]))
        #expect(TrustedProxies(["::ffff:10.0.0.0/104"]) == nil)
    }

    @Test func `a network of no bits holds every address`() throws {
        let all = try #require(TrustedProxies(["::/0"]))
        #expect(all.contains(try #require(IPAddress("203.0.113.1"))))
        #expect(!TrustedProxies.none.contains(try #require(IPAddress("203.0.113.1"))))
    }

    // MARK: Languages

    @Test(
        arguments: [
            (nil, []), ("", []), ("de", ["de"]), ("de-AT, en;q=0.8", ["de-at", "en"]), ("en;q=0.5, fr", ["fr", "en"]),
            ("en;q=0.5,de;q=0.5", ["en", "de"]), ("en;q=0, de", ["de"]), ("*, de;q=0.1", ["de"]),
            ("en;q=1.001, de;q=2, fr;q=0.1234, it;q=x, pt", ["pt"]), ("en;level=1, de", ["de"]),
            ("d\u{E9}, de", ["de"]),
            ("a b, de", ["ab", "de"]), (";q=1,,de", ["de"]), (String(repeating: "de,", count: 17) + "fr", ["de"]),
            (String(repeating: "x", count: 513), []),
        ] as [(String?, [String])])
    func `languages are taken by their weight, and what is none is passed over`(field: String?, tags: [String]) {
        let found = AcceptLanguage.tags(field)
        #expect(tags == ["de"] && found.count == 16 ? Set(found) == ["de"] : found == tags)
    }
}
