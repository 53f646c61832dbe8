import Testing

@testable import countersign

@Suite struct StatedOperatorTests {
    @Test(
        arguments: [
            ([:], nil), (["USER": "kim", "SUDO_USER": "kim"], nil), (["COUNTERSIGN_OPERATOR": "lee"], "lee"),
            (["COUNTERSIGN_OPERATOR": ""], nil), (["COUNTERSIGN_OPERATOR": "service"], nil),
            (["COUNTERSIGN_OPERATOR": "two\nlines"], nil), (["COUNTERSIGN_OPERATOR": "  "], nil),
            (["COUNTERSIGN_OPERATOR": String(repeating: "é", count: 50)], String(repeating: "é", count: 50)),
            (["COUNTERSIGN_OPERATOR": String(repeating: "é", count: 50) + "e"], nil),
        ] as [([String: String], String?)])
    func `an operator has the name that the trail can have and that it calls nobody else`(
        environment: [String: String], name: String?
    ) { #expect(StatedOperator.name(in: environment) == name) }
}
