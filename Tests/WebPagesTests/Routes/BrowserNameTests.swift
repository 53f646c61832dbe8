import Accounts
import Testing

@testable import WebPages

struct BrowserNameTests {
    @Test(arguments: [
        ("(X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox (Linux)"),
        (
            "(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0",
            "Edge (Windows)"
        ),
        (
            "(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36",
            "Chrome (Windows)"
        ),
        (
            "(Linux; Android 16; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0 Mobile Safari/537.36",
            "Samsung Internet (Android)"
        ),
        (
            "(iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
            "Safari (iPhone)"
        ),
        (
            "(iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile/15E148 Safari/604.1",
            "Chrome (iPad)"
        ),
        (
            "(Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15",
            "Safari (macOS)"
        ),
        (
            "(X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 OPR/120.0",
            "Opera (ChromeOS)"
        ),
        ("(X11; Linux x86_64) Own/1.0", "Linux"), ("Firefox/140.0", "Firefox"),
    ])
    func `a browser has the name of its product and of its system`(_ rest: String, _ name: String) {
        #expect(Device.browser(userAgent: "Mozilla/5.0 " + rest) == Device(name: name, platform: "web"))
    }

    @Test(arguments: [nil, "", "curl/8.0", "<b>kim@example.com</b>"])
    func `nothing else that is sent is kept`(_ userAgent: String?) {
        #expect(Device.browser(userAgent: userAgent) == Device(name: nil, platform: "web"))
    }
}
