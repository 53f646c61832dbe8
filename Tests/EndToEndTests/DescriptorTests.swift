import JSON
import TestSupport
import Testing

/// A service that may open few files, of which each connection is one.
@Suite(.limitedConcurrency, .timeLimit(.minutes(15))) struct DescriptorTests {
    @Test func `a listener takes so many connections that descriptors stay free`() async throws {
        let launcher = ["/bin/sh", "-c", #"ulimit -n 400 && exec "$@""#, "sh"]
        try await World.run { world in
            try await World.serve(world.scratch, world.sandbox, launcher: launcher) { other in
                let line = try #require(
                    try other.service.logLines().first { $0["message"]?.string == "few file descriptors" })
                #expect(line["connections"]?.string == "72" && line["limit"]?.string == "400")
                let held = try (0..<200).map { _ in try RawConnection(other.service.port) }
                // The longest silent ones are closed, so that this one is answered.
                #expect(try await other.service.get("/.well-known/jwks.json").status == 200)
                let metrics = try await other.service.privateGet("/metrics").text.split(separator: "\n")
                #expect(metrics.contains("process_max_fds 400"))
                let open = metrics.first { $0.hasPrefix("process_open_fds ") }?.split(separator: " ").last
                #expect(try #require(open.flatMap { Double($0) }) < 250)
                #expect(other.service.isRunning)
                withExtendedLifetime(held) {}
            }
        }
    }
}
