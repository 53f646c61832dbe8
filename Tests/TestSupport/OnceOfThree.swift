/// Whether what a pause of the machine can spoil succeeds once of three times: a defect spoils it each time.
package func onceOfThree(_ succeeds: () async throws -> Bool) async rethrows -> Bool {
    for _ in 0..<3 {
        if try await succeeds() { return true }
    }
    return false
}
