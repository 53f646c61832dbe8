// Uses the blocks of docs/getting-started/calling.md. Scripts/snippets/calls.py is what it calls, and says with which URL.

import java.io.IOException
import kotlinx.coroutines.runBlocking

fun main(arguments: Array<String>): Unit = runBlocking {
    val countersign = Countersign(arguments[0], "Kim’s phone")
    try {
        countersign.bind("ticket", Proof.Ticket)
        error("an answer that was never sent")
    } catch (failure: IOException) {
        println("no answer: $failure")
    }
}
