package import Curl

extension FetchRequest {
    /// This request with timeouts longer than any answer in a test takes: a busy machine makes a test slow, not wrong.
    package var uncontended: FetchRequest {
        var request = self
        request.timeout = .seconds(90)
        request.connectTimeout = .seconds(60)
        return request
    }
}
