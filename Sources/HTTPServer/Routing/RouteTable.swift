import Primitives

/// The operations of one listener, found by method and path.
///
/// A tree of path segments. A literal segment wins over a parameter, without backtracking: `/sessions/revoke` is never
/// tried as `/sessions/{sessionId}`, whatever the method. A route of `/console/*` gets what has no route of its own there,
/// of its method alone: the nearest such route does.
struct RouteTable: Sendable {
    enum Resolution {
        /// In a box: a route has many references, which all requests share, and each copy would count them all.
        indirect case found(Route, parameters: [(name: String, value: String)])
        /// The path exists; `allow` lists its methods.
        case methodNotAllowed(allow: String)
        case notFound
    }

    private struct Node: Sendable {
        var literals: [Substring: Int] = [:]
        var parameter: Int?
        var operations: [Operation] = []
        /// The route for what no other matches, here and below.
        var rest: Route?
    }

    private struct Operation: Sendable {
        let route: Route
        /// In the order of the template.
        let parameterNames: [String]
    }

    private var nodes = [Node()]

    /// - Precondition: each template is well-formed and no two routes are one operation. The tables are written in
    ///   source and built before a port is bound, so no request can violate it.
    init(_ routes: [Route]) { for route in routes { add(route) } }

    private mutating func add(_ route: Route) {
        precondition(route.template.hasPrefix("/"), "The template \(route.template) does not start with a slash.")
        var node = 0
        var names: [String] = []
        let segments = route.template.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            if segment == "*", index == segments.count - 1 {
                nodes[node].rest = route
                return
            }
            // The last one may be: a path with a slash at its end is another than the one without.
            precondition(
                !segment.isEmpty || index == segments.count - 1,
                "The template \(route.template) has an empty segment.")
            if segment.hasPrefix("{"), segment.hasSuffix("}") {
                names.append(String(segment.dropFirst().dropLast()))
                node = nodes[node].parameter ?? append { $0[node].parameter = $1 }
            } else {
                node = nodes[node].literals[segment] ?? append { $0[node].literals[segment] = $1 }
            }
        }
        precondition(
            !nodes[node].operations.contains { $0.route.method == route.method },
            "\(route.method.rawValue) \(route.template) is declared twice.")
        nodes[node].operations.append(Operation(route: route, parameterNames: names))
    }

    private mutating func append(_ link: (inout [Node], Int) -> Void) -> Int {
        let index = nodes.count
        link(&nodes, index)
        nodes.append(Node())
        return index
    }

    /// Renders what is rejected before dispatch on this path (405, 413, 503); `nil`: as `application/problem+json`.
    func earlyRefusal(of path: Substring) -> Route.EarlyRefusal? {
        for method in Route.Method.allCases {
            if case .found(let route, _) = resolve(method, path: path), let refusal = route.earlyRefusal {
                return refusal
            }
        }
        return nil
    }

    /// - Parameter method: nil for a method that no route can have.
    func resolve(_ method: Route.Method?, path: Substring) -> Resolution {
        guard path.utf8.first == UInt8(ascii: "/") else { return .notFound }
        var node = 0
        var values: [String] = []
        var rest = nodes[node].rest
        for segment in Segments(path: path.dropFirst()) {
            if let literal = nodes[node].literals[segment] {
                node = literal
            } else if let parameter = nodes[node].parameter, Self.isParameter(segment) {
                values.append(String(segment))
                node = parameter
            } else {
                return Self.unmatched(method, rest)
            }
            rest = nodes[node].rest ?? rest
        }
        let operations = nodes[node].operations
        guard !operations.isEmpty else { return Self.unmatched(method, rest) }
        guard let method, let operation = operations.first(where: { $0.route.method == method }) else {
            return .methodNotAllowed(allow: Self.allow(operations))
        }
        return .found(operation.route, parameters: Array(zip(operation.parameterNames, values)))
    }

    private static func unmatched(_ method: Route.Method?, _ rest: Route?) -> Resolution {
        guard let rest, rest.method == method else { return .notFound }
        return .found(rest, parameters: [])
    }

    /// HEAD comes with GET (RFC 9110 §9.3.2). OPTIONS is not among them: no page of another origin may call us.
    private static func allow(_ operations: [Operation]) -> String {
        var methods = operations.map(\.route.method.rawValue)
        if methods.contains("GET") { methods.append("HEAD") }
        return methods.sorted().joined(separator: ", ")
    }

    /// Ids and provider names: 1 to 64 of the unreserved characters of RFC 3986, and no dot segment.
    private static func isParameter(_ segment: Substring) -> Bool {
        let bytes = segment.utf8
        guard 1...64 ~= bytes.count, bytes.contains(where: { $0 != UInt8(ascii: ".") }) else { return false }
        return bytes.allSatisfy(\.isURLUnreserved)
    }
}

/// The parts of a path between its slashes, empty ones included.
private struct Segments: Sequence, IteratorProtocol {
    private var rest: Substring?

    init(path: Substring) { rest = path }

    mutating func next() -> Substring? {
        guard let path = rest else { return nil }
        guard let slash = path.utf8.firstIndex(of: UInt8(ascii: "/")) else {
            rest = nil
            return path
        }
        rest = path[path.utf8.index(after: slash)...]
        return path[..<slash]
    }
}
