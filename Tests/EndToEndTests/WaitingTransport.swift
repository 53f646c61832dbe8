import CountersignClient
import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Waits for an answer as long as the suite may run, and says which request had none, which the client's `transient`
/// leaves out.
struct WaitingTransport: HTTPTransport {
    private let transport = URLSessionTransport(AnswerLimits(time: .seconds(300), bytes: 1 << 20))

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        do {
            let (data, response) = try await transport.send(request)
            if response.statusCode >= 500 {
                Issue.record("\(request): \(response.statusCode) \(String(decoding: data, as: UTF8.self))")
            }
            return (data, response)
        } catch {
            Issue.record(error, "\(request)")
            throw error
        }
    }
}

extension World {
    /// The library for apps, on a device.
    func app(
        on device: String = "Kim’s phone", _ store: any SessionStore = InMemorySessionStore()
    ) throws -> SignInClient {
        SignInClient(
            baseURL: try #require(URL(string: service.url)), store: store, transport: WaitingTransport(),
            allowsLoopbackHTTP: true, device: DeviceDescription(name: device, platform: "iOS"))
    }
}
