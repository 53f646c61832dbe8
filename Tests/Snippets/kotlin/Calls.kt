// Uses the blocks of docs/getting-started/calling.md. Scripts/snippets/calls.py is what it calls, and says with which URL.

import java.io.IOException
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>): Unit = runBlocking {
    val api = arguments[0]
    val countersign = Countersign(api, "Kim’s phone")
    try {
        countersign.bind("ticket", Proof.Ticket)
        error("an answer that was never sent")
    } catch (failure: IOException) {
        println("no answer: $failure")
    }

    var stored: Session? = Session("session", "access-1", "refresh-1")
    val (one, other) = List(2) { Person(stored!!, countersign, { stored }, { stored = it }) }
    // Each time the access token has expired, once for a caller of a backend and once for three of the service.
    check(lamp(one, api) == "Kim’s lamp")
    countersign.call("POST", "/expire")
    other.call("GET", "/v1/account")
    countersign.call("POST", "/expire")
    List(3) { launch { one.call("GET", "/v1/account") } }.forEach { it.join() }
    check(stored == Session("session", "access-4", "refresh-4")) { "stored is $stored" }

    one.signOut()
    check(stored == null)
    check(!isSignedIn(other))
    // What another person has there is not theirs.
    stored = Session("another", "access-5", "refresh-5")
    other.signOut()
    check(stored?.sessionId == "another")
}
