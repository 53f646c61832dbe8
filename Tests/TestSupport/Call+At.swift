package import Accounts

extension Call {
    /// A call at that time, of the service itself unless said otherwise.
    package static func at(_ now: Timestamp, from origin: ChangeOrigin = .service) -> Call {
        Call(now: now, origin: origin)
    }
}
