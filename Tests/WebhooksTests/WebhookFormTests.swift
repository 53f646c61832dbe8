import Accounts
import Foundation
import OpenSSL
import Primitives
import TestSupport
import Testing

@testable import Webhooks

/// What is fixed by Standard Webhooks, by the schedule and by the rules of targets.
@Suite struct WebhookFormTests {
    private static let body = Array(#"{"test": 2432232314}"#.utf8)

    @Test(arguments: [
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        (
            "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
            "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
        ),
    ])
    func `a signature is that of the published vector`(_ secret: String, _ signature: String) throws {
        let signed = try WebhookSecret(secret).signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Self.body)
        #expect(signed == signature)
    }

    @Test func `a secret that is made is one that is read, and a file may have several`() throws {
        let pair = try WebhookSecret.freshPair()
        let text = try "\n\(WebhookSecret.fresh())\n  \(pair.secret)\r\n\n"
        let secrets = try WebhookSecret.all(in: text)
        #expect(secrets.count == 2)
        #expect(pair.publicKey.hasPrefix("whpk_"))
        #expect(try WebhookSecret.all(in: " \n").isEmpty)
    }

    @Test(arguments: [
        "", "whsec_", "whsec_!!", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsk_AAAA", "whpk_AAAA", "WHSEC_AAAA",
    ])
    func `what is no secret is refused`(_ text: String) {
        #expect(throws: WebhookSecret.Fault.self) { try WebhookSecret(text) }
    }

    @Test func `a key whose public half is another's is refused, and one that is too short or too long`() throws {
        let one = try Ed25519PrivateKey(seed: [UInt8](repeating: 1, count: 32))
        let mixed = Data([UInt8](repeating: 2, count: 32) + one.publicKey).base64EncodedString()
        #expect(throws: WebhookSecret.Fault.malformed) { try WebhookSecret("whsk_" + mixed) }
        func secret(bytes: Int) -> String { "whsec_" + Data(repeating: 2, count: bytes).base64EncodedString() }
        for bytes in [24, 64] { #expect(throws: Never.self) { try WebhookSecret(secret(bytes: bytes)) } }
        #expect(throws: WebhookSecret.Fault.tooShort) { try WebhookSecret(secret(bytes: 23)) }
        #expect(throws: WebhookSecret.Fault.malformed) { try WebhookSecret(secret(bytes: 65)) }
    }

    @Test func `the schedule is Standard Webhooks', later by a fifth at most, and as the receiver asks within bounds`()
    {
        let now = Timestamp(seconds: 1000)
        let schedule = WebhookSchedule.standard
        #expect(schedule.next(after: 1, at: now, retryAfter: 0, jitter: 0)?.seconds == 1005)
        #expect(schedule.next(after: 1, at: now, retryAfter: 0, jitter: 1)?.seconds == 1006)
        #expect(schedule.next(after: 9, at: now, retryAfter: 0, jitter: 0)?.seconds == 87_400)
        #expect(schedule.next(after: 10, at: now, retryAfter: 0) == nil)
        #expect(schedule.next(after: 1, at: now, retryAfter: 8, jitter: 0)?.seconds == 1008)
        #expect(schedule.next(after: 1, at: now, retryAfter: 3, jitter: 0)?.seconds == 1005)
        #expect(schedule.next(after: 1, at: now, retryAfter: 1_000_000, jitter: 0)?.seconds == 1010)
        #expect(schedule.next(after: 1, at: now, retryAfter: -5, jitter: 0)?.seconds == 1005)
        #expect(WebhookSchedule(steps: []).next(after: 1, at: now, retryAfter: 9) == nil)
    }

    private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.1.1", "172.31.255.255", "192.0.0.8", "192.0.2.1",
        "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::7f00:1", "64:ff9b::7f00:1",
        "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1", "fc00::1", "fd12::1", "fe80::1",
        "ff02::1",
    ])
    func `an address that is not on the internet is refused, but within an allowed network`(_ text: String) throws {
        let address = try Self.address(text)
        #expect(!WebhookTargets.internet.accept(address, isEncrypted: true))
        let allowing = try #require(WebhookTargets(allowing: [text]))
        #expect(allowing.accept(address, isEncrypted: true))
        #expect(allowing.accept(address, isEncrypted: false))
    }

    @Test(arguments: ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"])
    func `an address of the internet is good for https alone`(_ text: String) throws {
        #expect(WebhookTargets.internet.accept(try Self.address(text), isEncrypted: true))
        #expect(!WebhookTargets.internet.accept(try Self.address(text), isEncrypted: false))
    }

    @Test(arguments: [
        "169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "::a9fe:a9fe", "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::", "2002:a9fe:a9fe:1::2", "2001:0:808:808:0:1:5601:5601",
    ])
    func `where clouds hand out credentials nothing goes, whatever is allowed`(_ text: String) throws {
        let allowing = try #require(WebhookTargets(allowing: ["0.0.0.0/0", "::/0"]))
        #expect(!allowing.accept(try Self.address(text), isEncrypted: true))
    }

    @Test(arguments: ["64:ff9b::a9fe:a9fd", "2002:a9fe:a9fd::", "2002:1:2::a9fe:a9fe", "2001:db8::a9fe:a9fe", "::1"])
    func `beside that all is allowed that an operator allows`(_ text: String) throws {
        let allowing = try #require(WebhookTargets(allowing: ["::/0"]))
        #expect(allowing.accept(try Self.address(text), isEncrypted: true))
    }

    @Test func `a network is read as such, and http to a literal address outside of all is known`() throws {
        for text in ["10.0.0.0/33", "10.0.0.0/-1", "x", "10.0.0.0/", "::/129", ""] {
            #expect(WebhookTargets(allowing: [text]) == nil, "\(text)")
        }
        let mapped = try #require(WebhookTargets(allowing: ["::ffff:10.0.0.0/104"]))
        #expect(mapped.accept(try Self.address("10.9.9.9"), isEncrypted: false))
        #expect(!mapped.accept(try Self.address("11.9.9.9"), isEncrypted: false))
        let targets = try #require(WebhookTargets(allowing: ["10.0.0.0/8"]))
        #expect(!targets.refusesHTTP(to: "10.9.9.9"))
        #expect(!targets.refusesHTTP(to: "app.internal"))
        for host in ["93.184.216.34", "134744072", "010.8.8.8", "0x08.0x080808", "[fe80::1%25eth0]", "[::1]"] {
            #expect(targets.refusesHTTP(to: host), "\(host)")
        }
        #expect(!targets.refusesHTTP(to: "0x0a.9.2313"))
        #expect(targets.refusesHTTP(to: "::1"))
    }
}
