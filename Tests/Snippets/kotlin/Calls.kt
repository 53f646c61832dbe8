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

    var stored: Session? = Session("access-1", "refresh-1")
    val person = Person(stored!!, countersign) { stored = it }
    // Each time the access token has expired, here for one caller of a backend and there for three of the service.
    check(lamp(person, api) == "Kim’s lamp")
    countersign.call("POST", "/expire")
    List(3) { launch { person.call("GET", "/v1/account") } }.forEach { it.join() }
    check(stored == Session("access-3", "refresh-3")) { "stored is $stored" }
}
