import Primitives
import Synchronization
import Testing

@Suite struct ClosingTests {
    private struct Fault: Error {}

    @Test(arguments: [false, true]) func `it closes after the body, however that ended`(fails: Bool) async {
        let steps = Mutex<[String]>([])
        let value = try? await closing {
            steps.withLock { $0.append("closed") }
        } after: {
            steps.withLock { $0.append("body") }
            if fails { throw Fault() }
            return 1
        }
        #expect(value == (fails ? nil : 1))
        #expect(steps.withLock(\.self) == ["body", "closed"])
    }
}
