import CPostgres

/// The parameters that libpq connects with: our defaults, overridden by the URL, overridden by what must not differ.
struct ConnectionParameters: Sendable {
    typealias Pairs = [(key: String, value: String)]

    /// The parameters for each host of the URL, in its order. libpq would try all hosts in one attempt, but only its
    /// blocking calls move on from one that never answers.
    let hosts: [Pairs]

    /// nil when libpq cannot read the URL. Its message is not kept, for it may quote the password.
    init?(_ configuration: Database.Configuration) {
        guard let given = Self.parse(configuration.url) else { return nil }
        // A peer that vanished without closing the connection is noticed within half a minute, idle or not.
        var merged = [
            "tcp_user_timeout": "30000", "keepalives_idle": "20", "keepalives_interval": "5", "keepalives_count": "3",
            "application_name": configuration.applicationName,
        ]
        merged.merge(given) { _, fromURL in fromURL }
        merged["options"] = Self.options(configuration, given["options"])
        merged["client_encoding"] = "UTF8"
        hosts = Self.split(merged).map { host in
            host.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value) }
        }
    }

    /// One set of parameters for each host; a single set when there is one host, or none that libpq would accept.
    private static func split(_ all: [String: String]) -> [[String: String]] {
        let lists = ["host", "hostaddr", "port"].compactMap { key in
            all[key].map { (key, $0.split(separator: ",", omittingEmptySubsequences: false)) }
        }
        let count = lists.filter { $0.0 != "port" }.map(\.1.count).max() ?? 1
        // One port may serve all hosts.
        guard count > 1,
            lists.allSatisfy({ key, values in values.count == count || key == "port" && values.count == 1 })
        else { return [all] }
        return (0..<count).map { index in
            var one = all
            for (key, values) in lists { one[key] = String(values[min(index, values.count - 1)]) }
            return one
        }
    }

    /// The settings travel in the start-up packet and not in statements, so that they are not state which a pooler in
    /// transaction mode would have to carry. The operator's own options come behind ours and win, but for the last two.
    ///
    /// - `plan_cache_mode`: a prepared statement is planned once. By itself the server compares the cost of its one plan
    ///   with that of planning each time, and remembers the former from the day on which it first looked: a table that
    ///   was nearly empty then may be planned for ever. `Database.planningEachTime` is for statements that gain by it.
    /// - `jit`: compiling a plan takes a hundred milliseconds, and pays in scans of millions of rows, which the service has
    ///   none of. The server weighs it by the cost without the limit, and by each of the trail's partitions.
    /// - `default_transaction_isolation`: what database or role may say of it. A lone statement, or a script, is a
    ///   transaction of this level, and nothing runs it again after a serialization failure.
    /// - `client_min_messages`: above `warning` the server would not report that a commit was not confirmed by the
    ///   standby (``NoticeReceiver``).
    private static func options(_ configuration: Database.Configuration, _ given: String?) -> String {
        let limits = [
            ("statement_timeout", configuration.statementTimeout),
            ("lock_timeout", configuration.lockTimeout),
            ("idle_in_transaction_session_timeout", configuration.idleInTransactionTimeout),
        ]
        var options = ["-c plan_cache_mode=force_generic_plan", "-c jit=off"]
        for (name, limit) in limits {
            guard let limit else { continue }
            let (seconds, attoseconds) = limit.components
            // At least 1: PostgreSQL reads 0 as "no limit".
            let milliseconds = max(1, min(seconds, 2_000_000) * 1000 + attoseconds / 1_000_000_000_000_000)
            options.append("-c \(name)=\(milliseconds)")
        }
        if let given { options.append(given) }
        // A space would end the option.
        options += [#"-c default_transaction_isolation=read\ committed"#, "-c client_min_messages=notice"]
        return options.joined(separator: " ")
    }

    /// The options that the URL sets, by keyword; nil when libpq cannot read it.
    static func parse(_ url: String) -> [String: String]? { read(url)?.compactMapValues { $0 } }

    /// The keywords that libpq knows.
    static var keywords: Set<String> { Set((read("") ?? [:]).keys) }

    /// The keyword that keeps libpq from reading the URL, as it knows none of that name.
    static func unknownKeyword(in url: String) -> String? {
        var problem: UnsafeMutablePointer<CChar>?
        let parsed = unsafe PQconninfoParse(url, &problem)
        if let parsed = unsafe parsed { unsafe PQconninfoFree(parsed) }
        defer { unsafe PQfreemem(problem) }
        guard let message = unsafe problem.map({ unsafe String(cString: $0) }),
            message.hasPrefix("invalid connection option") || message.hasPrefix("invalid URI query parameter")
        else { return nil }
        let parts = message.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.count > 2 ? String(parts[1]) : nil
    }

    /// Whether a part of a password may stand where a host, a port or the database is, which libpq's messages quote: where
    /// its `@` or `/` isn't encoded, libpq reads the URI all the same.
    static func misplacesPassword(in url: String, read given: [String: String]) -> Bool {
        let ports = given["port", default: ""].split(separator: ",")
        let hosts = given["host", default: ""].split(separator: ",")
        return !ports.allSatisfy { Int($0).map { 1...65_535 ~= $0 } ?? false }
            // An abstract socket begins with one, and the folder of a socket may have one.
            || hosts.contains { !$0.hasPrefix("/") && $0.utf8.dropFirst().contains(UInt8(ascii: "@")) }
            || places(inURI: url).contains(UInt8(ascii: "@"))
    }

    /// What a connection string that is a URI begins with.
    static func scheme(of url: String) -> String? { ["postgresql://", "postgres://"].first { url.hasPrefix($0) } }

    /// The hosts, the ports and the database of a URI as libpq finds them: behind the first `@`, unless a `/` comes before
    /// it. Empty for the other form.
    private static func places(inURI url: String) -> Substring.UTF8View {
        guard let scheme = Self.scheme(of: url) else { return url.utf8.prefix(0) }
        let rest = url.utf8.dropFirst(scheme.utf8.count)
        let user = rest.prefix { $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: "/") }
        let hasUser = user.endIndex < rest.endIndex && rest[user.endIndex] == UInt8(ascii: "@")
        return (hasUser ? rest[user.endIndex...].dropFirst() : rest).prefix { $0 != UInt8(ascii: "?") }
    }

    /// Every keyword that libpq knows, with the value that the URL gives it.
    private static func read(_ url: String) -> [String: String?]? {
        guard !url.utf8.contains(0) else { return nil }
        var problem: UnsafeMutablePointer<CChar>?
        let parsed = unsafe PQconninfoParse(url, &problem)
        unsafe PQfreemem(problem)
        guard let parsed = unsafe parsed else { return nil }
        defer { unsafe PQconninfoFree(parsed) }
        var options: [String: String?] = [:]
        var option = unsafe parsed
        while let keyword = unsafe option.pointee.keyword {
            let name = unsafe String(cString: keyword)
            let value = unsafe option.pointee.val.map { unsafe String(cString: $0) }
            options.updateValue(value, forKey: name)
            unsafe option += 1
        }
        return options
    }
}
