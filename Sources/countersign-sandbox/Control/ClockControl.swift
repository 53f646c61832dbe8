import Hummingbird

/// The controls of the clock, under `/control/clock`.
struct ClockControl: Sendable {
    let clock: SandboxClock

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("clock") { _, _ in reading() }
        group.post("clock/set") { request, _ in
            let (time, running) = try await request.body { ($0.time("now"), $0.flag("running")) }
            clock.set(to: time, running: running)
            return reading()
        }
        group.post("clock/advance") { request, _ in
            let span = SandboxClock.range.upperBound
            guard clock.advance(by: try await request.body { $0.integer("seconds", in: -span...span) }) else {
                throw ControlRefusal.invalid("seconds leads out of the years 1970 to 9999.")
            }
            return reading()
        }
        group.post("clock/follow-system") { request, _ in
            try await request.emptyBody()
            clock.followSystem()
            return reading()
        }
    }

    private func reading() -> Response { .json(["now": Timestamp.text(clock.now), "running": clock.isRunning]) }
}
