import Testing

@testable import SignIn

/// Which refusals of our own credentials have a line in the log.
@Suite struct RefusedCredentialsTests {
    @Test func `each key has a line a minute, which says how many had none`() {
        let refused = RefusedCredentials()
        let start = ContinuousClock.now
        #expect(refused.sample("k1", at: start) == 0)
        #expect(refused.sample("k1", at: start + .seconds(1)) == nil)
        #expect(refused.sample("k1", at: start + .seconds(59)) == nil)
        #expect(refused.sample("k2", at: start + .seconds(59)) == 0)
        #expect(refused.sample("k1", at: start + .seconds(60)) == 2)
        #expect(refused.sample("k1", at: start + .seconds(61)) == nil)
        #expect(refused.sample("k1", at: start + .seconds(120)) == 1)
    }
}
