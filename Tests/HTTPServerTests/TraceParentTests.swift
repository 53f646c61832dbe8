import Testing

@testable import HTTPServer

@Suite struct TraceParentTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"
    private static let sound = "00-\(trace)-\(span)-01"

    @Test(arguments: [
        sound, "00-\(trace)-\(span)-00", "00-\(trace)-\(span)-ff",
        // Versions to come: the first four parts count.
        "01-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01-what-the-future-will-be-like", "fe-\(trace)-\(span)-01-",
    ])
    func `a trace and the caller's span are read`(_ text: String) throws {
        let parent = try #require(TraceParent(text))
        #expect(parent.traceID == Self.trace)
        #expect(parent.parentID == Self.span)
    }

    @Test(arguments: [
        "", "00", "-", "---", sound + "-", sound + "-00", sound + "0", String(sound.dropLast()), " " + sound,
        "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01", "000-\(trace)-\(span)-01", "01-\(trace)-\(span)-01.more",
        "cc-\(trace)-\(span)-0100", "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span)-0G",
        "00-\(trace)-\(span)-01,00-\(trace)-\(span)-01", "00_\(trace)_\(span)_01",
        "00-\(String(repeating: "0", count: 32))-\(span)-01", "00-\(trace)-\(String(repeating: "0", count: 16))-01",
        "00-\(trace.dropLast())-\(span)-01", "00-\(trace)0-\(span.dropLast())-01", "00-\(span)-\(trace)-01",
        "00-\(trace.dropLast(2))é-\(span)-01", String(repeating: "0", count: 55),
        "00-" + String(repeating: "a", count: 8000),
    ])
    func `anything else is ignored`(_ text: String) { #expect(TraceParent(text) == nil) }

    @Test func `of two fields neither counts`() {
        #expect(TraceParent(fields: [Self.sound])?.traceID == Self.trace)
        #expect(TraceParent(fields: []) == nil)
        #expect(TraceParent(fields: [Self.sound, Self.sound]) == nil)
    }
}
