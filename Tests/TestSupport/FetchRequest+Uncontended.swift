package import Curl

extension FetchRequest {
    /// The same with more time than any answer here takes: a busy machine makes a test slow, not wrong.
    package var uncontended: FetchRequest {
        var request = self
        request.timeout = .seconds(90)
        request.connectTimeout = .seconds(60)
        return request
    }
}
