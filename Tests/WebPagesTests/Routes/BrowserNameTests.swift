import Accounts
import TestSupport
import Testing

@testable import WebPages

struct BrowserNameTests {
    private static let names = Result { try DataFile("BrowserNames.tsv").rows.map { ($0[0], $0[1]) } }

    @Test(arguments: try names.get())
    func `a browser has the name of its product and of its system`(_ rest: String, _ name: String) {
        #expect(Device.browser(userAgent: "Mozilla/5.0 " + rest) == Device(name: name, platform: "web"))
    }

    @Test(arguments: [nil, "", "curl/8.0", "<b>kim@example.com</b>"])
    func `nothing else that is sent is kept`(_ userAgent: String?) {
        #expect(Device.browser(userAgent: userAgent) == Device(name: nil, platform: "web"))
    }
}
