import Dispatch
public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// `URLSession` as the sessions need it: an answer within 15 s or none, no redirect followed, no cookies, no cache, no
/// stored credentials.
public struct URLSessionTransport: HTTPTransport {
    private let limit: DispatchTimeInterval

    public init() {
        self.init(limit: .seconds(15))
    }

    /// - Parameter limit: how long an answer may take in all.
    init(limit: DispatchTimeInterval) {
        self.limit = limit
    }

    public func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await Connections.shared.send(request, limit: limit)
    }
}

/// The connections of all transports of the process. There is one `URLSession`: on Linux each keeps a thread and four
/// descriptors, also when it is invalidated.
private final class Connections: Sendable {
    static let shared = Connections()

    private let session: URLSession
    private let router = Router()

    private init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        session = URLSession(configuration: configuration, delegate: router, delegateQueue: nil)
    }

    func send(_ request: URLRequest, limit: DispatchTimeInterval) async throws -> (Data, HTTPURLResponse) {
        var request = request
        request.httpShouldHandleCookies = false
        try Task.checkCancellation()
        let task = session.dataTask(with: request)
        let exchange = Exchange()
        router.add(exchange, for: task)
        // The time limits of URLSession begin again with each byte, on Linux all of them.
        let deadline = DispatchWorkItem {
            exchange.end(.failure(URLError(.timedOut)))
            task.cancel()
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: deadline)
        defer {
            deadline.cancel()
            router.remove(task)
        }
        return try await withTaskCancellationHandler {
            task.resume()
            return try await exchange.answer.value.get()
        } onCancel: {
            exchange.end(.failure(CancellationError()))
            task.cancel()
        }
    }
}

/// One answer as it arrives.
private final class Exchange: Sendable {
    let answer = Waiter<Result<(Data, HTTPURLResponse), any Error>>()
    private let received = Locked<(response: HTTPURLResponse?, body: Data)>((nil, Data()))

    func begin(_ response: URLResponse) {
        received.withLock { $0 = (response as? HTTPURLResponse, Data()) }
    }

    func append(_ data: Data) {
        received.withLock { $0.body.append(data) }
    }

    func complete(_ error: (any Error)?) {
        let received = received.withLock { $0 }
        if let error {
            end(.failure(error))
        } else if let response = received.response {
            end(.success((received.body, response)))
        } else {
            end(.failure(URLError(.badServerResponse)))
        }
    }

    /// The first end counts.
    func end(_ result: Result<(Data, HTTPURLResponse), any Error>) {
        answer.finish(result)
    }
}

/// The delegate of the session: hands what happens to a task to its exchange.
private final class Router: NSObject, URLSessionDataDelegate, Sendable {
    private let exchanges = Locked<[ObjectIdentifier: Exchange]>([:])

    func add(_ exchange: Exchange, for task: URLSessionTask) {
        exchanges.withLock { $0[ObjectIdentifier(task)] = exchange }
    }

    func remove(_ task: URLSessionTask) {
        _ = exchanges.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
    }

    private func exchange(of task: URLSessionTask) -> Exchange? {
        exchanges.withLock { $0[ObjectIdentifier(task)] }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// A body is wanted once more: by libcurl, when a connection that was in use has ended without an answer. Nobody
    /// knows whether the first one arrived, and it may hold a code.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        exchange(of: task)?.end(.failure(URLError(.networkConnectionLost)))
        completionHandler(nil)
        // Not from the session's own queue, which cancelling waits for.
        DispatchQueue.global().async { task.cancel() }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchange(of: dataTask)?.begin(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.append(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        exchange(of: task)?.complete(error)
    }
}
