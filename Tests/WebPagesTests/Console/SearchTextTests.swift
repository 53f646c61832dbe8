import Testing

@testable import WebPages

@Suite struct SearchTextTests {
    @Test(
        arguments: [
            ("q=kim", "kim"), ("q=+%09kim+lee%20%0A", "kim lee"), ("q=%C2%A0kim%E2%80%83", "kim"), ("q=", ""),
            ("q=%E2%80%AA+kim%E2%80%AC%E2%80%8B", "kim"), ("q=%EF%BB%BFkim%E2%81%A0", "kim"), ("q=%E2%80%8B", ""),
            ("", ""), ("other=1&q=12345678", "12345678"), ("q=123456789", nil), ("q=+++++12345678+++", "12345678"),
            ("q=a%09b", nil), ("q=%FF", nil), ("q=%00", nil), ("q=%2", nil), ("q=a&q=b", nil),
        ] as [(String, String?)])
    func `white space and invisible marks around a search are left out`(_ row: (query: String, text: String?)) {
        #expect(SearchText.read("q", of: row.query[...], maximumBytes: 8) == row.text)
    }
}
