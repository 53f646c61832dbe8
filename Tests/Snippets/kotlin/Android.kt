// Declarations of Android's that the documents use; of these only what Calls.kt needs works.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.app

open class Activity : android.content.Context() {
    lateinit var intent: android.content.Intent
}
