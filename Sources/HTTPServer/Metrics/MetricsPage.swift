/// The `/metrics` page: the metrics of this process in the Prometheus text format, rendered for each request.
package struct MetricsPage: Sendable {
    private let render: @Sendable () async -> String

    package init(render: @escaping @Sendable () async -> String) { self.render = render }

    package var routes: [Route] {
        [
            Route(.get, "/metrics", priority: .observing) { [render] _ in
                Response(.ok, contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(await render().utf8))
            }
        ]
    }
}
