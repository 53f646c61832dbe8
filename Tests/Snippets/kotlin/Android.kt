// Declarations of Android's that the documents use; nothing of them runs but org.json.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.app

open class Activity : android.content.Context() {
    var intent: android.content.Intent = TODO()
}
