/// What a request, a command or one round of a worker does is done on behalf of a call. The call is made once, where it
/// comes in, and has one time: whatever it reads, writes and records, it does at `now`.
package struct Call: Sendable {
    package let now: Timestamp
    /// Who makes the changes, as the trail and the mails name them.
    package let origin: ChangeOrigin
    package let caller: Caller

    package init(now: Timestamp, origin: ChangeOrigin, caller: Caller = .local) {
        self.now = now
        self.origin = origin
        self.caller = caller
    }

    /// The same moment, on behalf of another: what a worker carries out for those who asked for it.
    package func onBehalf(of origin: ChangeOrigin) -> Call { Call(now: now, origin: origin, caller: caller) }

    /// The same call, with the device that an earlier request named.
    package func with(_ device: Device?) -> Call { Call(now: now, origin: origin, caller: caller.with(device)) }
}

extension WallClock {
    /// A call of the service itself, or of an operator at its machine.
    package func call(by origin: ChangeOrigin) -> Call { Call(now: now(), origin: origin) }
}
