import Curl
import Foundation
import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FetchConcurrencyTests {
    @Test func `a connection is used again`() async throws {
        let server = try LoopbackServer { _ in [.respond(text: "again")] }
        try await withFetcher { fetcher in
            for _ in 0..<20 { _ = try await fetcher.fetch(.forTests(url: server.url)) }
        }
        #expect(server.history.requests.count == 20)
        #expect(server.history.opened == 1)
    }

    @Test func `a cancelled task ends its request and the connection`() async throws {
        let server = try LoopbackServer { _ in [.hold] }
        try await withFetcher { fetcher in
            let task = Task { try await fetcher.fetch(.forTests(url: server.url)) }
            await server.history { $0.requests.count == 1 }
            task.cancel()
            await #expect(throws: FetchError(.cancelled, requestSent: true)) { try await task.value }
            await server.history { $0.closed == 1 }
        }
    }

    @Test func `a task that was cancelled before sends nothing`() async throws {
        let server = try LoopbackServer { _ in [.respond()] }
        try await withFetcher { fetcher in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await fetcher.fetch(.forTests(url: server.url))
            }
            let result = await task.result
            #expect(throws: FetchError(.cancelled, requestSent: false)) { try result.get() }
        }
        #expect(server.history.requests.isEmpty)
    }

    @Test func `no cancellation is lost, whenever it comes`() async throws {
        let server = try LoopbackServer { _ in [.hold] }
        try await withFetcher { fetcher in
            let codes = try await concurrently(0..<1_000) { _ in
                let task = Task { await fetcher.outcome(of: .forTests(url: server.url)).failure?.code }
                task.cancel()
                return await task.value
            }
            #expect(codes.allSatisfy { $0 == .cancelled })
        }
    }

    @Test func `a request beyond the bound is refused at once`() async throws {
        let server = try LoopbackServer { _ in [.hold, .respond()] }
        try await withFetcher {
            $0.maximumInFlight = 2
            $0.maximumWaiting = 1
        } _: { fetcher in
            await withTaskGroup(of: Result<FetchResponse, FetchError>.self) { group in
                for _ in 0..<10 { group.addTask { await fetcher.outcome(of: .forTests(url: server.url)) } }
                // Two are in flight and one is waiting, so the others end first.
                for _ in 0..<7 { #expect(await group.next()?.failure == FetchError(.busy, requestSent: false)) }
                server.release()
                for _ in 0..<3 { #expect(await group.next()?.success?.status == 200) }
            }
            let later = try await fetcher.fetch(.forTests(url: server.url))
            #expect(later.status == 200)
        }
        #expect(server.history.requests.count == 4)
    }

    @Test func `a waiting request is given up at its timeout or cancelled, and sends nothing`() async throws {
        let server = try LoopbackServer { _ in [.hold, .respond()] }
        try await withFetcher {
            $0.maximumInFlight = 1
        } _: { fetcher in
            let first = Task { try await fetcher.fetch(.forTests(url: server.url)) }
            await server.history { $0.requests.count == 1 }
            await #expect(throws: FetchError(.busy, requestSent: false)) {
                try await fetcher.fetch(.forTests(url: server.url, timeout: .milliseconds(50)))
            }
            let cancelled = Task { try await fetcher.fetch(.forTests(url: server.url)) }
            cancelled.cancel()
            await #expect(throws: FetchError(.cancelled, requestSent: false)) { try await cancelled.value }
            server.release()
            let response = try await first.value
            #expect(response.status == 200)
        }
        #expect(server.history.requests.count == 1)
    }

    @Test func `shutting down ends what is outstanding and refuses what comes later`() async throws {
        let server = try LoopbackServer { _ in [.hold] }
        let fetcher = try CurlFetcher()
        let tasks = (0..<5).map { _ in
            Task { try await fetcher.fetch(.forTests(url: server.url)) }
        }
        await server.history { $0.requests.count == 5 }
        await fetcher.shutdown()
        for task in tasks { await #expect(throws: FetchError(.stopped, requestSent: true)) { try await task.value } }
        await #expect(throws: FetchError(.stopped)) { try await fetcher.fetch(.forTests(url: server.url)) }
        await fetcher.shutdown()
        await server.history { $0.closed == 5 }
    }

    @Test func `a thousand requests in flight take one thread`() async throws {
        try raiseDescriptorLimit(to: 4_096)
        let server = try LoopbackServer { _ in [.hold, .respond(text: "done")] }
        try await withFetcher {
            $0.maximumInFlight = 1_000
            $0.threadName = "fetch-thousand"
        } _: { fetcher in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<1_000 { group.addTask { try await fetcher.fetch(.forTests(url: server.url)).status } }
                await server.history { $0.requests.count == 1_000 }
                // Threads inherit their name from the one that starts them: libcurl's would be called the same.
                let names = try threadNames()
                #expect(names.count { $0 == "fetch-thousand" } == 1)
                server.release()
                var answered = 0
                for try await status in group where status == 200 { answered += 1 }
                #expect(answered == 1_000)
            }
        }
        #expect(server.history.opened == 1_000)
    }

    @Test(arguments: [FetchRequest.Method.get, .post])
    func `on a kept connection that dies, a GET is repeated and a body is not`(method: FetchRequest.Method) async throws
    {
        let server = try LoopbackServer { request in
            request.connection == 0 && request.target == "/second" ? [.close] : [.respond(text: "ok")]
        }
        try await withFetcher { fetcher in
            _ = try await fetcher.fetch(.forTests(url: "\(server.url)/first"))
            let second = FetchRequest.forTests(method, url: "\(server.url)/second", body: Array("code=once".utf8))
            switch method {
            case .get:
                let response = try await fetcher.fetch(second)
                #expect(response.status == 200)
            case .post:
                await #expect(throws: FetchError(.closed, requestSent: true)) { try await fetcher.fetch(second) }
            }
        }
        let bodies = server.history.requests.filter { $0.target == "/second" && !$0.body.isEmpty }
        #expect(bodies.count == (method == .post ? 1 : 0))
    }

    @Test func `a released fetcher ends its thread`() async throws {
        let server = try LoopbackServer { _ in [.respond()] }
        var fetcher: CurlFetcher? = try CurlFetcher()
        _ = try await fetcher?.fetch(FetchRequest.forTests(url: server.url))
        #expect(server.history.closed == 0)
        fetcher = nil
        await server.history { $0.closed == 1 }
    }

    private func threadNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap { id in
            // A thread may be gone by now.
            (try? String(contentsOfFile: "/proc/self/task/\(id)/comm", encoding: .utf8))?
                .trimmingCharacters(in: .newlines)
        }
    }

    private func raiseDescriptorLimit(to count: rlim_t) throws {
        var limit = rlimit()
        try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        limit.rlim_cur = max(limit.rlim_cur, min(count, limit.rlim_max))
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    }
}

extension Fetcher {
    fileprivate func outcome(of request: FetchRequest) async -> Result<FetchResponse, FetchError> {
        do {
            return .success(try await fetch(request))
        } catch { return .failure(error) }
    }
}

extension Result {
    fileprivate var success: Success? { if case .success(let value) = self { value } else { nil } }

    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
