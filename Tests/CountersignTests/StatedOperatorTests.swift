import Testing

@testable import countersign

@Suite struct StatedOperatorTests {
    @Test(
        arguments: [
            ([:], nil), (["USER": "kim"], nil), (["SUDO_USER": "kim"], "kim"),
            (["COUNTERSIGN_OPERATOR": "lee", "SUDO_USER": "kim"], "lee"),
            (["COUNTERSIGN_OPERATOR": "", "SUDO_USER": "kim"], "kim"),
            (["COUNTERSIGN_OPERATOR": "service"], nil), (["SUDO_USER": "operator"], nil),
            (["COUNTERSIGN_OPERATOR": "two\nlines"], nil), (["COUNTERSIGN_OPERATOR": "  "], nil),
            (["COUNTERSIGN_OPERATOR": String(repeating: "é", count: 50)], String(repeating: "é", count: 50)),
            (["COUNTERSIGN_OPERATOR": String(repeating: "é", count: 50) + "e"], nil),
        ] as [([String: String], String?)])
    func `an operator has the name that the trail can have and that it calls nobody else`(
        environment: [String: String], name: String?
    ) {
        #expect(StatedOperator.name(in: environment) == name)
    }
}
