// What the page leaves to the test.
import Foundation
import OpenSSL
import TestSupport

func given<Value>() -> Value { fatalError() }

let key: P256PrivateKey = given()
let (url, callback, authorizeURL): (String, String, String) = given()
