import Curl
import Foundation
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// The receiver of webhooks: what it believes, and what it shows of it.
@Suite(.fixture(Sandbox.self)) struct ReceiverTests {
    private var sandbox: Sandbox { .current }

    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let body = #"{"test": 2432232314}"#
    private static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private static let time = "1614265330"

    private func post(
        _ signature: String?, id: String = Self.id, time: String = Self.time, body: String = Self.body,
        to sandbox: Sandbox
    ) async throws -> Int {
        var request = FetchRequest(.post, url: sandbox.url + "/receiver", body: Array(body.utf8))
        request.headers = [("webhook-id", id), ("webhook-timestamp", time)]
        if let signature { request.headers.append(("webhook-signature", signature)) }
        return try await sandbox.post(request).status
    }

    /// The signatures are those of the specification's vectors.
    @Test func `a delivery is believed by the signature of either kind, and by nothing else`() async throws {
        let v1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        let v1a = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
        _ = try await sandbox.control("clock/set", #"{"now":"2021-02-25T15:02:10Z"}"#)
        #expect(try await post(v1, to: sandbox) == 401)
        _ = try await sandbox.control("receiver", #"{"secrets":["\#(Self.secret)"]}"#)
        #expect(try await post(v1, to: sandbox) == 204)
        #expect(try await post("v1,AAAA v2,AAAA \(v1)", to: sandbox) == 204)
        #expect(try await post(v1a, to: sandbox) == 401)
        #expect(try await post(v1, body: Self.body + " ", to: sandbox) == 401)
        #expect(try await post(v1, id: "msg_other", to: sandbox) == 401)
        #expect(try await post(nil, to: sandbox) == 401)
        #expect(try await post(v1, time: "1614265331", to: sandbox) == 401)
        _ = try await sandbox.control("receiver", #"{"secrets":["whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="]}"#)
        #expect(try await post(v1a, to: sandbox) == 204)
        #expect(try await post(v1, to: sandbox) == 401)
        _ = try await sandbox.control("clock/advance", #"{"seconds":301}"#)
        #expect(try await post(v1a, to: sandbox) == 401)

        let deliveries = try await sandbox.control("receiver")["items"]?.elements ?? []
        #expect(deliveries.count == 11)
        #expect(deliveries.compactMap { $0["isVerified"]?.bool }.filter(\.self).count == 3)
        #expect(deliveries.last?["fault"]?.string?.contains("300 seconds") == true)
        #expect(deliveries.first?["fault"]?.string?.contains("no secret is set") == true)
        #expect(deliveries[1]["body"]?.string == Self.body)
        let page = String(decoding: try await sandbox.get("/receiver").body, as: UTF8.self)
        #expect(page.contains("Verified") && page.contains("Refused") && page.contains("{&quot;test&quot;"))
        try await sandbox.reset()
        #expect(try await sandbox.control("receiver")["items"]?.elements?.isEmpty == true)
    }
}
