import Foundation

/// The statistics of this process from proc(5), under the names that all client libraries of Prometheus use.
struct ProcessStatistics: Equatable {
    /// The units of the numbers in `/proc`.
    struct Units {
        let ticksPerSecond: Double
        let pageBytes: Double
        /// Seconds since 1970.
        let bootTime: Double
    }

    /// Seconds since 1970.
    let startTime: Double
    let residentBytes: Double
    let cpuSeconds: Double

    /// - Parameter stat: the content of `/proc/self/stat`. Its second field is a name in parentheses that may contain
    ///   parentheses and spaces itself, so fields are counted from the last closing parenthesis.
    init?(stat: String, units: Units) {
        guard let name = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[name...].split(separator: " ").dropFirst()
        /// The field with this number in proc(5). The third one is the first after the name.
        func field(_ number: Int) -> Double? {
            let index = fields.startIndex + number - 3
            return fields.indices.contains(index) ? Double(fields[index]) : nil
        }
        guard let user = field(14), let system = field(15), let start = field(22), let pages = field(24) else {
            return nil
        }
        startTime = units.bootTime + start / units.ticksPerSecond
        residentBytes = pages * units.pageBytes
        cpuSeconds = (user + system) / units.ticksPerSecond
    }
}

extension ProcessStatistics.Units {
    /// The units of this machine; nil where there is no `/proc`.
    static let current: Self? = {
        guard let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8),
            let line = stat.split(separator: "\n").first(where: { $0.hasPrefix("btime ") }),
            let boot = Double(line.dropFirst("btime ".count))
        else { return nil }
        return Self(
            ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))), pageBytes: Double(sysconf(Int32(_SC_PAGESIZE))),
            bootTime: boot)
    }()
}

extension Exposition {
    /// Writes the current metrics of the process. What can't be read is left out.
    mutating func writeProcess() {
        if let units = ProcessStatistics.Units.current,
            let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let process = ProcessStatistics(stat: stat, units: units)
        {
            metric("process_cpu_seconds_total", .counter, process.cpuSeconds)
            metric("process_resident_memory_bytes", .gauge, process.residentBytes)
            metric("process_start_time_seconds", .gauge, process.startTime)
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            // Without the descriptor that the directory was read through.
            metric("process_open_fds", .gauge, Double(open.count - 1))
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            metric("process_max_fds", .gauge, Double(limit.rlim_cur))
        }
    }
}
