-- What the scripts for wrk print at the end, as JSON: `dofile("Benchmarks/report.lua")`, from the repository's root.

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '{"requests":%d,"seconds":%.3f,"p50":%d,"p99":%d,"refused":%d,"failed":%d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
