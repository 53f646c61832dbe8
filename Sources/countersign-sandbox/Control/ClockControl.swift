import Hummingbird
import JSON

/// The controls of the clock, under `/control/clock`.
struct ClockControl: Sendable {
    let clock: SandboxClock

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("clock") { _, _ in reading() }
        group.post("clock/set") { request, _ in
            let members = try await request.members(["now", "running"])
            guard let time = Timestamp.seconds(try members.text("now")) else {
                throw ControlRefusal.invalid("now must be an RFC 3339 time in UTC, such as 2026-01-01T00:00:00Z.")
            }
            clock.set(to: time, running: try members.flag("running"))
            return reading()
        }
        group.post("clock/advance") { request, _ in
            let span = SandboxClock.range.upperBound
            guard let seconds = try await request.members(["seconds"]).integer("seconds", in: -span...span) else {
                throw ControlRefusal.invalid("seconds is missing.")
            }
            guard clock.advance(by: seconds) else {
                throw ControlRefusal.invalid("seconds leads out of the years 1970 to 9999.")
            }
            return reading()
        }
        group.post("clock/follow-system") { request, _ in
            _ = try await request.members([])
            clock.followSystem()
            return reading()
        }
    }

    private func reading() -> Response {
        .json { writer in
            writer.member("now", Timestamp.text(clock.now))
            writer.member("running", clock.isRunning)
        }
    }
}
