// Package quota bounds what one principal takes of a front that several may call: sessions, requests under
// way and waiting, calls a second, and for how many of them the hub works at once while others call too.
//
// A [Share] is what one principal takes, whatever its sessions. The front has a table of them by principal, and calls
// New for one that is not there, and Unused before it forgets one.
//
// # Who owns the state
//
// Sessions, Listens and MaxSessions belong to the table, and its mutex guards them. All else guards itself, by
// atomic values and channels of tokens. The package starts nothing but the timer of a Work, which gives its token
// back after [WorkTime] at the latest.
//
// # What it refuses to do
//
// It knows no session, reads no message but its method, and writes no answer: an [ExceededError] reports which bound
// was met, and when to come again. Its default is no bound (a nil Share) only where its caller tells no one apart.
package quota
